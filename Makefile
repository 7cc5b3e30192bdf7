# One word each; VENV, PYTHON, EXTRAS (what `setup` installs, such as dev,spark), DEMO, TIER (which tests `make test` runs: test, or ci for all that CI runs), ENGINES and LOWEST (the environments of `make engines` and `make lowest`), BENCH (options of `python benchmarks/tasks.py`), RENEW and AGAINST (of `make same`), MUTANTS and ROWS may be set from outside.
VENV ?= .venv
DEMO ?= demo
PYTHON ?= python3
EXTRAS ?= dev
ENGINES ?= build/engines
LOWEST ?= build/lowest
TIER ?= test
ENGINE_TESTS = spark or engine or made_table or adult or every_way
READERS = $(sort $(wildcard marginals/tables/*.py))
BIN = $(VENV)/bin
PYTEST = OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal

# Tests start many Pythons; without bytecode on disk each of them compiles anew what it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo setup lint quick test same lines costs engines readers lowest nightly coverage mutants rows bench docs notebooks words release

help:  ## what each of these commands does
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.installed  ## set up, then simulate a table and publish it
	if test -f "$(DEMO)/census.csv"; then rm -rf "$(DEMO)"; fi
	$(BIN)/marginals demo "$(DEMO)"
	$(BIN)/marginals verify "$(DEMO)/release"

setup: $(VENV)/.ready  ## everything a developer needs

lint: $(VENV)/.ready  ## format, style, types, floors and wings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

quick: $(VENV)/.ready  ## the cheapest tests, with few examples: under a minute
	MARGINALS_TIER=quick $(PYTEST) -q -m "not data" tests

test: lint  ## lint, then the tests whose cases take up to half a second: five minutes; TIER=ci for those up to five, too
	MARGINALS_TIER=$(TIER) $(PYTEST)

same: $(VENV)/.ready  ## answers that have changed, within two minutes; RENEW=1 keeps the new ones, AGAINST names the revision to compare with
	$(BIN)/python tests/same/same.py $(if $(RENEW),--renew) $(if $(AGAINST),--against $(AGAINST))

lines:  ## files, lines, lines of code and classes, which all budgets mean
	$(PYTHON) tests/support/count_lines.py

costs: $(VENV)/.ready  ## measure what each test costs, and write the list from which the tiers are made
	MARGINALS_EXAMPLES=40 $(PYTEST) --costs

engines: $(ENGINES)/.ready  ## the same table and bundle from every engine, also from Spark in one process and in several; needs Java 17
	OPENBLAS_NUM_THREADS=1 $(ENGINES)/bin/python -m pytest -p no:cacheprovider tests/marginals/tables -k '$(ENGINE_TESTS)'
	MARGINALS_SPARK='local-cluster[2,1,1024]' OPENBLAS_NUM_THREADS=1 $(ENGINES)/bin/python -m pytest -p no:cacheprovider \
		tests/marginals/tables/test_same_bundle.py -k 'test_a_made_table'
	cat $(READERS) | sha256sum > tests/engines.sha256

readers: ## the engines, if the code that reads tables differs from what they were last compared with
	if ! cat $(READERS) | sha256sum | cmp -s - tests/engines.sha256; then $(MAKE) engines; fi

lowest: $(LOWEST)/.ready  ## the tests of `quick` with the lowest versions of libraries that pyproject.toml allows
	MARGINALS_TIER=quick OPENBLAS_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -q -p no:cacheprovider --numprocesses auto \
		-m "not data" tests/checks tests/models tests/marginals

nightly: lint lowest engines  ## all tests with ten times the examples, others each time, then some mutants; hours
	MARGINALS_TIMES=10 MARGINALS_TRIALS=500 $(PYTEST) --durations=25
	MARGINALS_TIMES=100 $(PYTEST) tests/checks/maxent tests/checks/test_small_counts.py
	MARGINALS_TRIALS=2000 MARGINALS_SEED=$$(date +%Y%m%d)0000 $(PYTEST) tests/trust/test_fuzzing.py -k at_random
	$(BIN)/python tests/trust/mutants.py --sample 100 --seed $$(date +%Y%m%d)
	$(BIN)/python tests/trust/rows.py

coverage: $(VENV)/.ready  ## lines of models and checks that their own tests reach
	$(BIN)/python -m pytest --cov=models --cov=checks --cov-fail-under=95 tests/models tests/checks models checks

mutants: $(VENV)/.ready  ## changes of models and checks that no test notices; MUTANTS="--sample 60 --seed 1" or names, all take days
	$(BIN)/python tests/trust/mutants.py $(MUTANTS)

rows: $(VENV)/.ready  ## break the code of each row of docs/definitions.md and see its test fail; ROWS="KG06" names some; minutes
	$(BIN)/python tests/trust/rows.py $(ROWS)

bench: $(VENV)/.ready  ## how long the common tasks take, a quarter of an hour; not part of the tests' verdict
	$(BIN)/python benchmarks/tasks.py $(BENCH)

docs: $(VENV)/.ready  ## the documentation, in build/docs/index.html
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/docs

notebooks: $(VENV)/.ready  ## run the notebooks, and keep what comes out
	$(BIN)/jupyter-execute --inplace notebooks/*.ipynb

words: $(VENV)/.ready  ## write the files of all sentences for people anew, in tests/words; read the diff
	MARGINALS_WORDS=renew OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -p no:cacheprovider tests/test_words.py

release: $(VENV)/.ready  ## wheel and sdist in build/dist: checked, each installed where nothing else is, the demo run
	rm -rf build/dist build/release
	$(BIN)/python -m hatchling build -d build/dist
	$(BIN)/python -m twine check --strict build/dist/*
	for file in build/dist/*.whl build/dist/*.tar.gz; do \
		rm -rf build/release && $(PYTHON) -m venv build/release/venv && \
		build/release/venv/bin/pip install --quiet --disable-pip-version-check "$$file" && \
		(cd build/release && venv/bin/marginals demo demo && venv/bin/marginals verify demo/release) || exit 1; \
	done

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.ready: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS)]"
	touch $@

$(LOWEST)/.ready: pyproject.toml tests/support/lowest_versions.py
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(PYTHON) tests/support/lowest_versions.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/pip install --quiet --disable-pip-version-check -r $(LOWEST)/lowest.txt \
		frictionless hatchling hypothesis pytest pytest-xdist
	touch $@

$(ENGINES)/.ready: pyproject.toml
	test -x $(ENGINES)/bin/python || $(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/pip install --quiet --disable-pip-version-check --editable ".[duckdb,ibis,polars,spark]" hypothesis pytest
	touch $@
