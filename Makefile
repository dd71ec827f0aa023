# Every target sets itself up: .venv is made again when the lock or pyproject.toml is newer than it.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DATASET ?= banana
# Of make paper: the CPU seconds that a fit of the paper's problem by exact CCP may take; 27 of the 30 sets keep within.
EXACT ?= 100
# The stages call `ldep` and `dvc` by name.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help setup lint types test repro paper publish serve serve-test scale-test ui ui-test protocol bench docs wheel wheel-test lock audit clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## make .venv and install the pinned lock into it

$(READY): requirements.lock pyproject.toml
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || { \
	  echo "ldep needs Python 3.11; found: $$("$(PYTHON)" --version 2>&1 || echo none)." >&2; \
	  echo "Install it, or name it: make PYTHON=/path/to/python3.11 setup" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV) || { echo "the venv module is missing: apt-get install python3.11-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@mkdir -p .ldep && mkdir -p -m 700 .ldep/dvc # DVC's own cache, closed to others: docs/dependencies.md
	@touch $@

lint: $(READY) ## ruff
	ruff check .
	ruff format --check .

types: $(READY) ## mypy
	mypy

test: lint types ## lint, types, unit, property and end-to-end tests
	python -m pytest -n 2 --dist loadfile

repro: $(READY) ## the main job: dvc repro on the data sets that need no network
	dvc repro --keep-going

paper: $(READY) ## the same on the paper's 30 sets (needs OpenML, or its cache in OPENML_CACHE_DIR)
	dvc exp run --keep-going -S "datasets=[$$(ldep datasets --names)]" -S classifiers.ldep_paper.budget.seconds=$(EXACT)

publish: $(READY) ## copy the report of the last run to reports/paper/, to be committed
	ldep publish reports/paper

serve: $(READY) ## serve the champion of DATASET, with a curl line to copy
	ldep serve $(DATASET)

serve-test: $(READY) ## load a registered model in an environment made from its own requirements
	python -m pytest tests/pipeline/serving/test_environment.py --timeout 1800

scale-test: $(READY) ## a shared server on PostgreSQL, its outage, a full disk, two dvc repro at once (ten minutes)
	python -m pytest tests/scale --timeout 1800

ui: $(READY) ## the MLflow UI on the runs of MLFLOW_TRACKING_URI, or of this folder
	@echo "Open http://127.0.0.1:5000/#/experiments?workflowType=machine_learning"
	MLFLOW_DISABLE_TELEMETRY=true mlflow ui --backend-store-uri "$${MLFLOW_TRACKING_URI:-sqlite:///mlflow.db}"

ui-test: $(READY) ## look at the UI of this folder's runs in headless Chromium, write docs/images/
	@test -f mlflow.db || { echo "There are no runs to look at: mlflow.db is not here. Run: make repro" >&2; exit 1; }
	@command -v chromium >/dev/null || apt-get install -y chromium || { \
	  echo "ui-test needs Chromium, and could not install it: apt-get install chromium, as root." >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r tests/ui-requirements.lock || { \
	  echo "ui-test needs Playwright, and could not install it from the package index." >&2; exit 1; }
	python -m pytest tests/pipeline/tracking/test_ui.py tests/pipeline/stages/test_report.py --timeout 900

protocol: $(READY) ## check that data and folds give the paper's SVC columns, write reports/protocol/
	ldep protocol

bench: $(READY) ## measure against the competitors, write reports/bench/ (NAMES=... for some; some need the 30 sets)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r benchmarks/requirements.lock
	python -m benchmarks $(NAMES)

docs: $(READY) ## build the documentation into site/; a warning is an error
	sphinx-build --quiet --fail-on-warning --keep-going -c docs . site
	@echo "site/docs/index.html"

wheel: $(READY) ## build the release into dist/
	rm -rf build dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	rm -rf build

wheel-test: wheel ## install the release into empty environments, and use it there (needs PyPI; some minutes)
	python -m pytest tests/release/test_installed_wheel.py --timeout 1800

lock: ## resolve the dependencies again (needs uv on the PATH)
	uv pip compile -q pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --extra dask --extra dccp --extra docs --extra pipeline --extra server --extra test --group offline \
	  -o requirements.lock
	uv pip compile -q pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --group bench --no-deps -c requirements.lock -o benchmarks/requirements.lock
	uv pip compile -q --group ui --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  -c requirements.lock -o tests/ui-requirements.lock
	$(BIN)/python -m tools.conda

audit: $(READY) ## known vulnerabilities of the pinned packages, as PyPI tells them
	python -m tools.audit

clean: ## remove .venv and caches
	rm -rf $(VENV) build dist site *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache
