# Everything runs from a fresh clone with only python3 (3.11 to 3.13) and pip: the first target that needs it makes .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.lect-installed
WORKERS ?= 2
MARKS ?= not slow and not cuda
TESTS ?= tests

.PHONY: demo test test-slow lint bench docs install clean

# A compiled model, its levels and its speed against eager.
demo: $(INSTALLED)
	@$(BIN)/python examples/demo.py

test: $(INSTALLED)
	@$(BIN)/python -m pytest -n $(WORKERS) -m '$(MARKS)' $(TESTS)

# Adds what takes minutes: whole-library properties, wheels.
test-slow: $(INSTALLED)
	@$(BIN)/python -m pytest -n $(WORKERS) -m 'not cuda' $(TESTS)

lint: $(INSTALLED)
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m lect.tools.docs --check

bench: $(INSTALLED)
	@$(BIN)/python -m benchmarks.ir_core

docs: $(INSTALLED)
	@$(BIN)/python -m lect.tools.docs

install: $(INSTALLED)

# torch goes first and by exact version where that version exists, so that pip takes a CPU build it can find
# instead of resolving the range to the newest CUDA build.
$(INSTALLED): pyproject.toml runtime/_frame_hook.c runtime/_frames.h runtime/_records.h
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import torch' 2>/dev/null \
		|| $(BIN)/pip install --quiet 'torch==2.13.0' \
		|| $(BIN)/pip install --quiet 'torch>=2.11,<2.14'
	@$(BIN)/pip install --quiet --editable '.[test,lint]'
	@touch $@

clean:
	rm -rf build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
