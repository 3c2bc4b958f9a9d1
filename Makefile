# `make` alone lists the targets. Needs only make and Python 3.11+; everything else goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

# mkdocs-material announces its successor on every build.
export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install test test-fast run docs pages format clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: $(INSTALLED) ## Create .venv with everything in it, if needed

$(INSTALLED): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || \
		{ echo "error: '$(PYTHON)' was not found; install Python 3.11 or newer, or run make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: tam needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1); run make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
		{ echo "error: $(PYTHON) has no venv module; install it (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@echo "Installing tam and its tools into $(VENV) (the first time takes a few minutes) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e ".[dev]" -c constraints.txt
	@touch $@

test: $(INSTALLED) ## Check lint, formatting, types and documentation, then run the tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright
	$(BIN)/mkdocs build --quiet --strict
	$(BIN)/pytest -n 2 --dist worksteal -q

test-fast: $(INSTALLED) ## Check lint and run the fast tests, in under a minute
	$(BIN)/ruff check
	$(BIN)/pytest -n 2 --dist worksteal -q -m "not slow"

run: $(INSTALLED) ## Demo a pretrained model, then train one on the CPU, in minutes
	$(BIN)/tam demo < /dev/null
	$(BIN)/tam train classification --preset quick --out runs/quick $$(test ! -e runs/quick/config.json || echo --resume)

docs: $(INSTALLED) ## Build the documentation into site/
	$(BIN)/mkdocs build --quiet --strict
	@echo "Open site/index.html"

pages: $(INSTALLED) ## Regenerate the figures and numbers of the documentation from results/
	$(BIN)/python docs/make.py

format: $(INSTALLED) ## Fix lint and formatting where possible
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## Remove .venv, caches and builds (runs/ stays)
	rm -rf $(VENV) build dist site .cache .hypothesis .pytest_cache .ruff_cache
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
