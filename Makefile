# Each target does its own set-up: a virtual environment in .venv, then its job.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo lock locked test test-all test-versions fuzz lint docs bench reproduce clean

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable ".[dev,demo]"
	touch $@

# What is locked stays, unless pyproject.toml forbids it; UPGRADE=1: the newest of all. Needs uv
lock:
	uv pip compile --quiet --universal --python-version 3.11 --all-extras --generate-hashes \
	  --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade) \
	  --output-file requirements.lock pyproject.toml

# The versions of requirements.lock instead of the newest, for every target that follows; needs uv,
# which compares the hashes of constraints too. Not --requirement: the lock holds every extra
locked:
	uv venv --quiet --seed --allow-existing --python $(PYTHON) $(VENV)
	uv pip install --quiet --python $(BIN)/python --constraint requirements.lock --editable ".[dev,demo]"
	touch $(VENV)/installed

demo: $(VENV)/installed
	$(BIN)/eventspace demo

# Kernels are tested once more without the compiler, and those for a GPU on a simulator
PYTEST := $(BIN)/pytest -n logical --maxprocesses 8 --dist worksteal --durations 10
PLAIN  := tests/kernels tests/test_observations.py tests/test_order.py tests/test_rules.py tests/test_explain.py

test: $(VENV)/installed
	$(PYTEST)
	NUMBA_DISABLE_JIT=1 $(PYTEST) $(PLAIN)
	NUMBA_ENABLE_CUDASIM=1 $(PYTEST) tests/cuda

$(VENV)/hosts: $(VENV)/installed
	$(BIN)/pip install --quiet --editable ".[hosts]"
	touch $@

# What takes minutes after that: whole examples, long pages, long fuzzing, other tools
test-all: test $(VENV)/hosts
	$(PYTEST) -m whole

# The oldest and the newest versions of what we need, in environments of their own; needs uv
test-versions:
	$(PYTHON) -m tests.versions

# Seconds for each target, the most cases, and a new seed for each run
FUZZ_SECONDS ?= 600
FUZZ_CASES   ?= 1000000000
FUZZ_SEED    ?= $(shell date +%s)
FUZZ         := --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

$(VENV)/fuzz: $(VENV)/installed
	$(BIN)/pip install --quiet --editable ".[fuzz]" || echo "atheris does not install here: the mutator alone"
	touch $@

fuzz: $(VENV)/fuzz
	@failed=0; \
	for target in models tables expressions pages; do \
	  $(BIN)/python -m tests.fuzz $$target --cases $(FUZZ_CASES) $(FUZZ) || failed=1; done; \
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m tests.fuzz models --cases $(FUZZ_CASES) $(FUZZ) || failed=1; \
	if $(BIN)/python -c "import atheris" 2>/dev/null; then \
	  for target in models tables expressions; do \
	    $(BIN)/python -m tests.fuzz.guided $$target $(FUZZ) || failed=1; done; fi; \
	exit $$failed

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

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
	  top_n jobs accuracy accuracy_movielens accuracy_shapes accuracy_time side_information \
	  held_out_users first_rules held_out_page; do \
	  $(BIN)/python -m benchmarks.$$name || exit 1; done

# QUICK=1: a smaller run, written to build/
reproduce: $(VENV)/bench
	$(BIN)/python -m reproduction $(if $(QUICK),--quick)
	$(if $(QUICK),,$(BIN)/python -m reproduction.rules)

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
