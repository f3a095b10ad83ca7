# Each target does its own set-up: a virtual environment in .venv, then its job.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test lint docs bench reproduce clean

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable ".[dev,demo]"
	touch $@

demo: $(VENV)/installed
	$(BIN)/eventspace demo

test: $(VENV)/installed
	$(BIN)/pytest
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest tests/kernels tests/test_observations.py tests/test_order.py tests/test_rules.py tests/test_explain.py

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/docs: $(VENV)/installed
	$(BIN)/pip install --quiet --editable ".[docs]"
	touch $@

docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

$(VENV)/bench: $(VENV)/installed
	$(BIN)/pip install --quiet --editable ".[bench]"
	touch $@

bench: $(VENV)/bench
	for name in start_up opening paper_split indicator_step fit order rules page command_line \
	  accuracy accuracy_movielens accuracy_shapes accuracy_time; do \
	  $(BIN)/python -m benchmarks.$$name || exit 1; done

# QUICK=1: a smaller run, written to build/
reproduce: $(VENV)/bench
	$(BIN)/python -m reproduction $(if $(QUICK),--quick)
	$(if $(QUICK),,$(BIN)/python -m reproduction.rules)

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache
