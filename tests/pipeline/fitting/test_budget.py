"""Estimates of the time of a fit, and what happens where they exceed the budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.execution import plan
from ldep_pipeline.fitting import models
from ldep_pipeline.fitting.specs import EXACT, Classifier, ccp_seconds, ebm_seconds, estimated_seconds
from ldep_pipeline.fitting.trial import fit_inner_model
from tests.support import tiny

BOUNDED = {"outer_bags": 2, "max_rounds": 250, "interactions": 5}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tiny.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def exact(seconds: float) -> dict[str, Any]:
    """A tuned ℓ-DEP by exact CCP, whatever the study chooses."""
    return {
        "class": "ldep.LDEPClassifier",
        "params": {"r1": 2, "r2": 2, "loss": "hinge"},
        "search": {"alpha": {"low": 0.1, "high": 1.0}, "solver": {"choices": ["ccp", "anneal"]}},
        "budget": {"seconds": seconds, "instead": {"solver": "anneal"}},
    }


def test_the_estimate_of_exact_ccp_grows_with_each_size():
    base = ccp_seconds(500, 10, 10, 10)
    assert 0.1 < base < 10
    assert ccp_seconds(5000, 10, 10, 10) > 10 * base
    assert ccp_seconds(500, 10, 20, 20) > base
    assert ccp_seconds(500, 1500, 10, 10) > 1000 * base


@pytest.mark.parametrize(
    ("rows", "features", "measured"),
    [(4240, 2, 0.3), (166, 60, 2.0), (11984, 14, 1.8), (969, 100, 3.4), (3680, 57, 2.4)],
)
def test_the_estimate_of_ebm_is_close_to_measured_fits(rows, features, measured):
    assert ebm_seconds(rows, features, BOUNDED) == pytest.approx(measured, rel=0.2)


def test_the_pairs_of_wide_data_take_most_of_the_time_of_ebm():
    without = ebm_seconds(2600, 1500, {**BOUNDED, "interactions": 0})
    assert 10 < without < 60
    assert ebm_seconds(2600, 1500, BOUNDED) > 5 * without


@pytest.mark.parametrize(("interactions", "pairs"), [("3x", 60), (0.5, 10), ([[0, 1], [2, 3]], 2), (1000, 190)])
def test_ebm_takes_pairs_in_several_spellings(interactions, pairs):
    expected = ebm_seconds(1000, 20, {**BOUNDED, "interactions": pairs})
    assert ebm_seconds(1000, 20, {**BOUNDED, "interactions": interactions}) == pytest.approx(expected)


def test_only_exact_ccp_can_exceed_the_budget_of_an_ldep():
    path = "ldep.LDEPClassifier"
    assert estimated_seconds(path, 10_000, 100, {"solver": "anneal"}) == 0.0
    assert estimated_seconds(path, 10_000, 100, {"solver": "dccp"}) == ccp_seconds(10_000, 100, 20, 20)


def test_an_exact_solver_that_takes_two_classes_is_replaced_where_there_are_more():
    entry = Classifier.model_validate(exact(1e6))
    for solver in EXACT:
        two, three = (models.settings_for(entry, {"solver": solver}, 100, 2, classes=classes) for classes in (2, 3))
        assert two["solver"] == solver
        assert three["solver"] == "anneal"


def test_beyond_the_budget_the_other_parameters_replace_chosen_ones():
    entry = Classifier.model_validate(exact(1e-6))
    chosen = {"alpha": 0.5, "solver": "ccp"}
    assert models.settings_for(entry, chosen, 100, 5) == {
        "r1": 2,
        "r2": 2,
        "loss": "hinge",
        "alpha": 0.5,
        "solver": "anneal",
    }
    enough = Classifier.model_validate(exact(1000.0))
    assert models.settings_for(enough, chosen, 100, 5)["solver"] == "ccp"


@pytest.mark.parametrize(("seconds", "solver"), [(1e-6, "anneal"), (1000.0, "ccp")])
def test_the_budget_holds_while_tuning(root, seconds, solver):
    params = tiny.checked(models=["exact"], classifiers={"exact": exact(seconds)})
    data = load_training_data("tiny")
    entry, rows = params.classifiers["exact"], np.arange(len(data.y))
    pipe = fit_inner_model(entry, {"alpha": 0.5, "solver": "ccp"}, params.impute, data, rows, seed=0)
    assert pipe[-1].solver == solver


def test_a_study_depends_on_the_budget(root):
    def journal(seconds: float) -> str:
        params = tiny.checked(models=["exact"], classifiers={"exact": exact(seconds)})
        return plan.study_task("tiny", "exact", 0, params, "digest").journal.name

    assert journal(1.0) == journal(1.0)
    assert journal(1.0) != journal(2.0)
