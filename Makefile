# The first of these that is Python 3.11 or newer and can make a virtual environment; make PYTHON=... overrides it.
PYTHON ?= $(firstword $(foreach python,python3.13 python3.12 python3.11 python3,$(shell $(python) -c \
	"import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))" >/dev/null 2>&1 && echo $(python))))
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
WORKERS ?= 2
MINUTES ?= 10
# Where the environment forbids Python to keep bytecode, every worker and process of a test compiles everything again:
# eight seconds a worker.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-all style lint validate bench fuzz notebooks docs site release clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "The first one that needs it makes $(VENV) with $(or $(PYTHON),Python 3.11 or newer)."

demo: $(VENV)/.runtime ## evaluate four classifiers on bundled data and write a report
	$(BIN)/plausibly demo

test: $(VENV)/.dev ## run the tests, without the slow ones (WORKERS=2 at a time)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow"

test-slow: $(VENV)/.dev ## run the slow tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m slow

test-all: test test-slow ## run all tests

style: $(VENV)/.dev ## check style and format, in a second
	$(BIN)/ruff check
	$(BIN)/ruff format --check

# Style first: it takes a second, and the wheel half a minute.
lint: style site ## check style, format, the direction of imports, types
	PYTHONPATH=build/site $(BIN)/lint-imports
	$(BIN)/pyright --pythonpath $(BIN)/python

validate: $(VENV)/.dev ## check that every sampler draws from its posterior; report in results/validation
	$(BIN)/python -m validation

bench: $(VENV)/.dev ## print a table of timing ratios
	$(BIN)/python -m benchmarks

fuzz: $(VENV)/.fuzz ## fuzz the file parsers for MINUTES=10 each (READER=name for one of them)
	for reader in $(or $(READER),$$($(BIN)/python -m fuzz 2>/dev/null)); do \
		$(BIN)/python -m fuzz $$reader $(MINUTES) || exit 1; done

notebooks: $(VENV)/.dev ## run the notebooks into results/notebooks
	mkdir -p results/notebooks
	cp notebooks/*.ipynb results/notebooks
	$(BIN)/jupyter-execute --inplace results/notebooks/*.ipynb

docs: $(VENV)/.dev ## build the site into build/docs, notebooks executed
	$(BIN)/python docs/_notebooks.py
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "Open build/docs/index.html"

# The wheel, unpacked. Built from an sdist, since setuptools would copy leftovers in build/ into the wheel.
site: $(VENV)/.dev
	rm -rf build dist
	$(BIN)/python -m build --no-isolation >/dev/null
	$(PIP) install --quiet --no-deps --no-index --target build/site dist/*.whl

release: site $(VENV)/.release ## build sdist and wheel into dist, and run the README from the wheel with newest and oldest dependencies
	$(BIN)/python .ci/release.py

clean: ## remove everything that these targets made
	rm -rf $(VENV) build dist results .pytest_cache .ruff_cache .hypothesis .import_linter_cache src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: packages are installed again only when pyproject.toml changes. Running needs fewer than developing.
$(VENV)/.runtime: pyproject.toml
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer with venv found: install one, or make PYTHON=/path/to/python"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade "pip>=25.1"
	$(PIP) install --quiet --editable .
	@touch $@

# Apart from the others, since Atheris has no wheels for the newest Python.
$(VENV)/.fuzz: $(VENV)/.dev
	$(PIP) install --quiet --group fuzz
	@touch $@

$(VENV)/.release: $(VENV)/.dev
	$(PIP) install --quiet --group release
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(PIP) install --quiet --group dev
	@touch $@
