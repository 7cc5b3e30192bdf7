# One word each; VENV and DEMO may be set from outside.
VENV ?= .venv
DEMO ?= demo
PYTHON ?= python3
BIN = $(VENV)/bin

.PHONY: demo setup lint test coverage mutants bench

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
	$(BIN)/python -m pytest

coverage: $(VENV)/.ready  ## lines of models and checks that their own tests reach
	$(BIN)/python -m pytest --cov=models --cov=checks --cov-fail-under=95 tests/models tests/checks models checks

mutants: $(VENV)/.ready  ## changed checks that no test notices; MUTANTS names some of them, all take hours
	MARGINALS_EXAMPLES=15 $(BIN)/mutmut run --max-children 1 $(MUTANTS)
	$(BIN)/mutmut results

bench: $(VENV)/.ready  ## measurements as JSON lines; not part of the tests' verdict
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.ready: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@
