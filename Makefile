# Two commands on a fresh machine with only Python 3.11 or later: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
PIP = $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# the hole of the demo: line and column, counted from 1
HOLE = examples/demo.py:14:9

.PHONY: demo test quick load soak lint format clean

demo: $(VENV)/.installed
	$(VENV)/bin/midfill fill $(HOLE) --show-steps

# The tests in a real VS Code are skipped, with the reason, where what they need cannot be brought.
test: $(VENV)/.installed-dev lint
	@tests/vscode/setup.sh $(VENV)/bin/python || echo "editors: not set up, see above: the tests in VS Code will be skipped"
	$(VENV)/bin/python -m pytest

quick: $(VENV)/.installed-dev
	$(VENV)/bin/python -m pytest -m "not slow"

# typists in many documents at once, a minute each: a scripted model, then the embedded one
load: $(VENV)/.installed-dev
	$(VENV)/bin/python -m tests.load.typists
	$(VENV)/bin/python -m tests.load.typists --embedded

# thousands of requests, very long files, and five minutes of malformed messages
soak: $(VENV)/.installed-dev
	$(VENV)/bin/python -m tests.load.soak

lint: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache

$(VENV)/bin/python:
	@echo "making $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Midfill needs Python 3.11 or later, not %d.%d: name one with PYTHON=..." % sys.version_info[:2] or 0)'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "installing Midfill and what it needs (about two minutes, most of it torch)"
	@$(PIP) -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "installing Midfill and what its tests need (about two minutes, most of it torch)"
	@$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.installed
