# Two commands: `make demo` proves theorems with real Lean, `make test` passes the tests.
# Both set up .venv first and leave .venv/bin/burn-qed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check bench clean

demo: $(BIN)/burn-qed
	$(BIN)/burn-qed lean install
	$(BIN)/burn-qed prove examples/five.lean

test: check
	$(BIN)/burn-qed lean install
	$(BIN)/python -m pytest
	$(BIN)/burn-qed doctor

check: $(BIN)/burn-qed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(BIN)/burn-qed
	$(BIN)/python bench/lean.py --setup
	$(BIN)/python bench/search.py
	$(BIN)/python bench/trajectories.py

$(BIN)/burn-qed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV)
