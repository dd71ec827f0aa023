"""The table of models: it has the models of params.yaml, and nobody else names one that it does not have."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ldep_pipeline.config import params
from ldep_pipeline.execution.suites import SUITES
from ldep_pipeline.report.labels import DEFAULT, ENSEMBLED, FAMILIES, FORMS, KINDS, MODELS, TUNED

ROOT = Path(__file__).parents[3]
PRINT = "names:\n\t@echo $(PAPER_MODELS),$(PEERS),$(REPEATED_MODELS)"


def test_every_model_of_the_project_has_one_row():
    assert sorted(MODELS) == sorted(params.load(ROOT / "params.yaml").classifiers)


def test_titles_tell_models_apart_and_families_are_known():
    assert len({model.title for model in MODELS.values()}) == len(MODELS)
    assert {model.family for model in MODELS.values()} <= set(FAMILIES)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_three_forms_as_its_entries_in_params_say(kind):
    entries = params.load(ROOT / "params.yaml").classifiers
    forms = {model.form: name for name, model in MODELS.items() if model.kind == kind}
    assert set(forms) == set(FORMS)
    assert not entries[forms[DEFAULT]].search
    assert entries[forms[TUNED]].is_tuned
    assert entries[forms[ENSEMBLED]].ensemble == forms[TUNED]


def test_suites_and_the_makefile_name_known_models_only():
    command = ["make", "-s", "-f", "Makefile", f"--eval={PRINT}", "names"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    named = {model for suite in SUITES.values() for model in suite.models} | set(done.stdout.strip().split(","))
    assert len(named) > 30
    assert named <= set(MODELS)
