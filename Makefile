# Every target prepares its own environment on a fresh machine and costs nothing the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements/dev.lock
SHELL := /bin/bash
NEEDS_PYTHON := import sys; sys.exit(sys.version_info < (3, 11) and "marvin needs Python 3.11 or later: make PYTHON=/path/to/it")
THIRDPARTY := .venv-thirdparty

.PHONY: demo test check bench screenshot format lock test-thirdparty clean

# A stamp per environment: made again only when the lock or the project file changes.
$(VENV)/.ready: $(LOCK) pyproject.toml
	@$(PYTHON) -c '$(NEEDS_PYTHON)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# The demo needs the embedded model's engine too.
$(VENV)/.demo-ready: requirements/demo.lock pyproject.toml
	@$(PYTHON) -c '$(NEEDS_PYTHON)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing marvin and the embedded model's engine ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/demo.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(VENV)/.demo-ready
	@$(BIN)/python scripts/demo.py

test: $(VENV)/.ready
	@$(BIN)/python -m pytest -n auto $(PYTEST)

# Heavy: servers that others wrote, half a gigabyte of them.
$(THIRDPARTY)/.ready: requirements/thirdparty.txt scripts/thirdparty.py | $(VENV)/.ready
	@$(BIN)/python scripts/thirdparty.py $(THIRDPARTY)
	@touch $@

test-thirdparty: $(VENV)/.ready $(THIRDPARTY)/.ready
	@MARVIN_THIRDPARTY=$(abspath $(THIRDPARTY)) $(BIN)/python -m pytest -m thirdparty tests/thirdparty $(PYTEST)

check: $(VENV)/.ready
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/mypy examples/hooks
	@$(BIN)/python scripts/docs.py --check

format: $(VENV)/.ready
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format --quiet .

# PEERS=DIR: a directory where npm installed other agents; BENCH=: more arguments, such as
# --task say-10, or --report docs/benchmarks.md for the page of results.
bench: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.compare $(if $(PEERS),--peers "$(PEERS)") $(BENCH)
	@$(BIN)/python -m benchmarks.session
	@$(BIN)/python -m benchmarks.dispatch
	@$(BIN)/python -m benchmarks.tui_start $(if $(PEERS),--peers "$(PEERS)")
	@$(BIN)/python -m benchmarks.tui_keys
	@$(BIN)/python -m benchmarks.tui_stream

# The pictures of the documentation, from the app itself.
screenshot: $(VENV)/.ready
	@$(BIN)/python scripts/screenshot.py

lock: $(VENV)/.ready
	@$(BIN)/python scripts/lock.py

clean:
	rm -rf $(VENV) $(THIRDPARTY) build dist .mypy_cache .ruff_cache
