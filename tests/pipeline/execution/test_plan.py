"""What the key of a study and of a fit depends on: all that their numbers do."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest

from ldep_pipeline.data import folds
from ldep_pipeline.execution import code_version, plan
from tests.support import tiny

OUTER = "sklearn.ensemble.BaggingClassifier"
INNER = {"class": "edited.Model"}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tiny.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def edited(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The module of INNER."""
    path = root / "edited.py"
    path.write_text("from sklearn.naive_bayes import GaussianNB as Model\n")
    monkeypatch.syspath_prepend(root)
    importlib.invalidate_caches()
    code_version.code_digest.cache_clear()
    code_version.package_version.cache_clear()
    yield path
    sys.modules.pop("edited", None)
    code_version.code_digest.cache_clear()
    code_version.package_version.cache_clear()


def key(**entry: Any) -> str:
    params = tiny.checked(models=["model"], classifiers={"model": {"class": OUTER, **entry}})
    return plan.make("tiny", params, folds.read("tiny")).key("model")


@pytest.mark.parametrize(
    "entry",
    [
        {"params": {"estimator": INNER}},
        {"params": {"estimator": {"class": OUTER, "params": {"estimator": INNER}}}},
        {"params": {"estimators": [["one", INNER]]}},
        {"search": {"estimator": {"choices": [INNER, None]}}},
        {"search": {"n_estimators": {"choices": [2]}}, "while_tuning": {"estimator": INNER}},
        {"class": "ldep.LDEPClassifier", "budget": {"seconds": 1.0, "instead": {"estimator": INNER}}},
    ],
)
def test_the_code_of_a_class_inside_the_parameters_counts(edited, entry):
    before = key(**entry)
    assert key(**entry) == before
    edited.write_text(edited.read_text() + "# a comment\n")
    code_version.code_digest.cache_clear()
    code_version.package_version.cache_clear()
    assert key(**entry) == before
    edited.write_text(edited.read_text() + "CHANGED = 1\n")
    code_version.code_digest.cache_clear()
    code_version.package_version.cache_clear()
    assert key(**entry) != before


def test_infinity_is_not_null(root):
    keys = {key(params={"max_samples": value}) for value in (float("inf"), None, float("nan"), 1.0)}
    assert len(keys) == 4
    keys = {key(search={"max_samples": {"choices": [1.0, value]}}) for value in (float("inf"), None)}
    assert len(keys) == 2


def test_more_repeats_leave_the_keys_of_the_first_one(root):
    params = tiny.checked()
    before = plan.make("tiny", params, folds.read("tiny"))
    tiny.prepare(root, repeats=2)
    after = plan.make("tiny", params, folds.read("tiny"))
    assert (before.folds, after.folds) == (3, 6)
    assert {task: fit.key for task, fit in after.fits.items() if task[1] < 3} == {
        task: fit.key for task, fit in before.fits.items()
    }
    assert {task: study.key for task, study in after.studies.items() if task[1] < 3} == {
        task: study.key for task, study in before.studies.items()
    }
    assert before.key("svc") != after.key("svc")


def test_another_optuna_is_another_study(root, monkeypatch):
    search = {"search": {"n_estimators": {"low": 2, "high": 4}}}
    before = key(**search), key()
    monkeypatch.setattr(optuna, "__version__", "0.0")
    after = key(**search), key()
    assert after[0] != before[0]
    assert after[1] == before[1]
