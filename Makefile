# `make demo` and `make test` create what they need on a fresh clone: a private .venv with pinned packages.
PYTHON ?= python3
BIN := .venv/bin
OUT ?= demo-output
# processes that share the tests: one per core
JOBS ?= auto
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-all bench studies lint coverage clean

demo: .venv/.ready
	$(BIN)/dalembert study three-storey --out $(OUT)

test: lint
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile -m "not slow"
	$(BIN)/python -m tests.other_kernels $(JOBS)

test-all: lint
	DALEMBERT_TEST_PROFILE=wide $(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile
	$(BIN)/python -m tests.other_kernels $(JOBS)

lint: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/lint-imports --config rooms.toml

# The peers are heavy and none of them is needed to use or to test the package: an environment of their own.
# One group: make bench ONLY=four-bar
bench: .venv-bench/.ready
	.venv-bench/bin/python -m benchmarks $(if $(ONLY),--only $(ONLY))

studies: .venv/.ready
	$(BIN)/dalembert study all --out study-output

coverage: .venv/.ready
	$(BIN)/python -m tests.coverage $(if $(VERBOSE),-v)

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	@touch $@

.venv-bench/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet -c constraints.txt -e ".[bench]"
	@touch $@

clean:
	rm -rf .venv .venv-bench build dist demo-output study-output bench-results.json
	rm -f src/dalembert/view/animation/page.html
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
