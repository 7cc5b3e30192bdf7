# One word each; VENV, DEMO and BENCH (options of `python benchmarks`) may be set from outside.
VENV ?= .venv
DEMO ?= demo
PYTHON ?= python3
BIN = $(VENV)/bin

.PHONY: demo setup lint test coverage mutants bench docs

demo: $(VENV)/.installed  ## set up, then simulate a table and publish it
	if test -f "$(DEMO)/census.csv"; then rm -rf "$(DEMO)"; fi
	$(BIN)/marginals demo "$(DEMO)"
	$(BIN)/marginals verify "$(DEMO)/release"

setup: $(VENV)/.ready  ## everything a developer needs

lint: $(VENV)/.ready  ## format, style, types, floors
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint  ## lint, then all tests
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

coverage: $(VENV)/.ready  ## lines of models and checks that their own tests reach
	$(BIN)/python -m pytest --cov=models --cov=checks --cov-fail-under=95 tests/models tests/checks models checks

mutants: $(VENV)/.ready  ## changed checks that nothing notices; MUTANTS names some of them, all take hours
	$(BIN)/python tests/trust/mutants.py $(MUTANTS)

bench: $(VENV)/.ready  ## measurements, some minutes (BENCH=--long: all); not part of the tests' verdict
	$(BIN)/python benchmarks $(BENCH)

docs: $(VENV)/.ready  ## the documentation, in build/docs/index.html
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/docs

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.ready: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@
