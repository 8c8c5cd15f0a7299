# From a fresh clone: `make train` trains on Cora, `make test` runs the tests.
# Both set up .venv first; afterwards neither needs a network.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: train test check format docs bench tables gpu-test clean

train: .venv/run.stamp
	$(BIN)/akgnn train

# One process a core with one thread each: threads that fight for cores are far slower. Bytecode is
# kept even where the environment asks for none: else every process compiles all modules anew.
test: .venv/dev.stamp
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --maxprocesses 8 --dist worksteal

check: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Into site/, which opens from the folder: site/index.html.
docs: .venv/dev.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Takes a while; nothing else should run beside it. `make tables` shows the result.
bench: .venv/dev.stamp
	$(BIN)/akgnn bench

# The measured tables and plots in the documents and the page, from results/.
tables: .venv/dev.stamp
	$(BIN)/python tools/update_tables.py
	$(BIN)/python tools/claims.py
	$(BIN)/akgnn report results --out results/report.html

# On a machine with a GPU and torch, from source, without an installation.
gpu-test:
	PYTHONPATH=src $(PYTHON) -m pytest -m gpu
	PYTHONPATH=src $(PYTHON) -m pytest tests/ops/test_fused.py

clean:
	rm -rf .venv build dist site src/*.egg-info .mypy_cache .pytest_cache .ruff_cache

.venv/run.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/dev.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ .venv/run.stamp

.venv/bin/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 14) else "akgnn needs Python 3.11 to 3.13, but $(PYTHON) is %d.%d; try: make PYTHON=python3.11" % v)' \
		|| { command -v $(PYTHON) >/dev/null || echo "There is no $(PYTHON); akgnn needs Python 3.11 to 3.13."; exit 1; }
	$(PYTHON) -m venv .venv
