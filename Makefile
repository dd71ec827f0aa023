# Every target sets itself up: it installs the lock into .venv if the lock or a pyproject.toml is newer than .venv.
# Another Python: make PYTHON=python3.12 setup. Several side by side: make PYTHON=python3.12 VENV=.venv-3.12 test.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DATASET ?= banana
# The limit in CPU seconds for one exact fit of the paper's problem in `make paper`. 27 of the 30 data sets stay below it.
EXACT ?= 100
# Up to this number of coefficients, `make paper` runs DCCP itself on separable rows: 8 of the 30 data sets, in at most 15 s
# of CPU time per fit. Chess, Hill-Valley, Mushroom and Steel Plates Fault have more.
DCCP ?= 1000000
# The models of `make paper`: each family with defaults, tuned, and ensembled, and the morphological relatives. Those of
# other packages cannot be stored without pickle, and so are no candidates for registration. TREES=..., PEERS=... and
# RELATIVES=... choose other forms of these models; RELATIVES= leaves the relatives out.
comma := ,
three_forms = $(1),$(1)_tuned,$(1)_ensembled
TREES := $(call three_forms,random_forest),$(call three_forms,extra_trees),$(call three_forms,hist_gradient_boosting)
RELATIVES := dilation,erosion,dep,rdep
PAPER_MODELS := ldep_paper,ldep_default,ldep,ldep_ensembled,ldep_cv,linear_svc,maxout,$\
  $(call three_forms,rbf_svc),$(call three_forms,mlp),$(call three_forms,logistic),$(TREES)$(if $(RELATIVES),$(comma)$(RELATIVES))
PEERS := $(call three_forms,lightgbm),$(call three_forms,catboost),$(call three_forms,ebm)
# The models of `make paper-repeats`: the three with the highest means in `make paper`, to see whether their order holds,
# and those whose fits and tuning on the 30 data sets take less than 5 CPU minutes.
REPEATED_MODELS := ldep_cv,ldep_ensembled,ldep,ldep_default,linear_svc,rbf_svc,mlp,maxout,dilation,erosion,dep,rdep,$\
  $(call three_forms,logistic),random_forest,extra_trees,hist_gradient_boosting,lightgbm,ebm
REPEATS ?= 5
INSTALL_PEERS = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r peers.lock
# Where `make publish` copies the report to.
TO ?= reports/paper
# The stages call `ldep` and `dvc` by name.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help setup lint types imports test lowest-test fault-test repro paper table1 paper-repeats publish serve serve-test scale-test ui ui-test \
  protocol bench docs wheel wheel-test lock audit clean

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## create .venv and install the lock into it

$(READY): requirements.lock pyproject.toml pipeline/pyproject.toml
	@python="$$(PATH="$${PATH#$(CURDIR)/$(BIN):}" tools/find-python $(if $(PYTHON),"$(PYTHON)"))"; \
	  version() { "$$1" -c 'import sys; print(*sys.version_info[:2])' 2>/dev/null; }; \
	  if [ "$$(version $(BIN)/python || true)" != "$$(version "$$python")" ]; then rm -rf $(VENV); fi; \
	  "$$python" -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps --no-build-isolation --editable . --editable pipeline
	@mkdir -p .ldep && mkdir -p -m 700 .ldep/dvc # DVC's own cache, closed to others: docs/dependencies.md
	@touch $@

lint: $(READY) ## ruff: style and format
	ruff check .
	ruff format --check .

types: $(READY) ## mypy: types
	mypy

imports: $(READY) ## import-linter: which room may import which
	lint-imports

test: lint types imports ## all checks, and every test that is not marked slow
	python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lowest-test: ## the library's tests with the lowest versions of its dependencies that pyproject.toml allows (needs uv)
	uv venv --quiet --clear --python "$$(tools/find-python $(if $(PYTHON),"$(PYTHON)",python3.11))" .venv-lowest
	uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct \
	  --editable ".[onnx,prove,table,test]" "matplotlib>=3.9" "skops>=0.11"
	.venv-lowest/bin/python -m pytest tests/ldep

fault-test: $(READY) ## the fault harness: kills, damaged files, hostile input, tables without a signal
	python -m pytest -m fault --timeout 3600

repro: $(READY) ## the main job: run the pipeline on the data sets that need no network
	dvc repro --keep-going

# It compares the models and registers none. `dvc repro` afterwards registers the best of PAPER_MODELS for each data set.
paper: $(READY) ## every model on the paper's 30 data sets (needs OpenML, or its cache in OPENML_CACHE_DIR)
	$(INSTALL_PEERS)
	ldep set "datasets=[$$(ldep datasets --names)]" split.repeats=1 classifiers.ldep_paper.budget.seconds=$(EXACT) \
	  classifiers.ldep_paper.params.solver_options.dccp_up_to=$(DCCP) \
	  "models=[$(PAPER_MODELS)$(if $(PEERS),$(comma)$(PEERS))]" "register.candidates=[$(PAPER_MODELS)]"
	dvc repro --keep-going train
	ldep report

table1: PAPER_MODELS := ldep_paper,linear_svc,rbf_svc,mlp,maxout
table1: PEERS :=
table1: paper ## only the five models of the paper's Table 1 on its 30 data sets (as `make paper`; 18 minutes)

# It registers no model: `register` would choose champions from these models alone.
paper-repeats: $(READY) ## the paper's 30 data sets with REPEATS cross-validations (default: 5), for the best models and the cheap ones
	$(INSTALL_PEERS)
	ldep set "datasets=[$$(ldep datasets --names)]" split.repeats=$(REPEATS) "models=[$(REPEATED_MODELS)]" \
	  "register.candidates=[]" tracking.models=false
	dvc repro --keep-going train
	ldep report

publish: $(READY) ## copy the report of the last run to TO (default: reports/paper), to commit it
	ldep publish $(TO)

serve: $(READY) ## serve the champion of DATASET (default: banana) and print a curl command to try it
	ldep serve $(DATASET)

serve-test: $(READY) ## load a registered model in an environment built from its own requirements (needs a package index)
	python -m pytest -m "slow and network" tests/pipeline

scale-test: $(READY) ## a shared server on PostgreSQL and its outage, a full disk, two runs at once (ten minutes)
	python -m pytest -m slow tests/scale

ui: $(READY) ## MLflow's UI on MLFLOW_TRACKING_URI, or on the runs of this folder; prints the address to open
	@ldep ui

ui-test: $(READY) ## check the pages of the UI in headless Chromium (IMAGES=1 writes docs/images/)
	@test -f mlflow.db || { echo "There are no runs to look at: mlflow.db does not exist. Run: make repro" >&2; exit 1; }
	@command -v chromium >/dev/null || apt-get install -y chromium || { \
	  echo "ui-test needs Chromium and cannot install it here. As root: apt-get install chromium" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r tests/ui-requirements.lock || { \
	  echo "ui-test needs Playwright and cannot install it from the package index." >&2; exit 1; }
	python -m pytest -m browser $(if $(IMAGES),--write-images) tests/pipeline

protocol: $(READY) ## check that our data and folds reproduce the paper's SVC columns, write reports/protocol/
	python -m benchmarks protocol

bench: $(READY) ## measure against the competitors, write reports/bench/ (NAMES="solvers dccp" for some of them)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r benchmarks/requirements.lock
	python -m benchmarks $(NAMES)

docs: $(READY) ## build the documentation into site/; a warning is an error
	sphinx-build --quiet --fail-on-warning --keep-going -c docs . site
	@echo "site/docs/index.html"

wheel: $(READY) ## build the releases of library and pipeline into dist/
	rm -rf build pipeline/build dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist . ./pipeline
	rm -rf build pipeline/build

wheel-test: wheel ## install the release into empty environments and use it there (needs a package index)
	python -m pytest -m "slow and network" tests/release

UV = uv pip compile -q --universal --python-version 3.11 --fork-strategy fewest --generate-hashes --no-emit-index-url \
  --no-emit-package ldep --no-header $(if $(UPGRADE),--upgrade)
lock: ## write the locks and conda.yaml; the present pins stay unless UPGRADE=1 (needs uv)
	$(UV) pyproject.toml pipeline/pyproject.toml --extra dask --extra dccp --extra docs --extra onnx --extra prove --extra server \
	  --extra table --extra test --group offline -o requirements.lock
	$(UV) pipeline/pyproject.toml --extra peers --no-deps -c requirements.lock -o peers.lock
	$(UV) pyproject.toml --group bench --no-deps -c requirements.lock -o benchmarks/requirements.lock
	$(UV) --group ui -c requirements.lock -o tests/ui-requirements.lock
	"$$(tools/find-python)" -m tools.conda

audit: $(READY) ## ask PyPI for known vulnerabilities of the pinned packages
	python -m tools.audit

clean: ## remove .venv and caches
	rm -rf $(VENV) build dist site *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache \
	  .grimp_cache .import_linter_cache
