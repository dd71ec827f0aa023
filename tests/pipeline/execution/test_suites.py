"""Models by size: estimated seconds decide which models of a suite a data set gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldep_pipeline.config import params
from ldep_pipeline.execution import suites

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> params.Params:
    monkeypatch.setenv("LDEP_N_JOBS", "2")
    return params.load(ROOT / "params.yaml")


@pytest.mark.parametrize("suite", suites.SUITES)
def test_a_small_data_set_gets_all_models(project, suite):
    choice = suites.choose(suite, project, rows=1000, features=20)
    assert choice.models == list(suites.SUITES[suite].models)
    assert not choice.left_out
    assert choice.seconds < suites.SUITES[suite].seconds


@pytest.mark.parametrize(("suite", "rows"), [("standard", 200_000), ("full", 200_000)])
def test_models_whose_time_explodes_with_the_rows_step_aside(project, suite, rows):
    choice = suites.choose(suite, project, rows, features=40)
    slowest = {"standard": "rbf_svc", "full": "rbf_svc_tuned"}[suite]
    assert choice.left_out[slowest] > suites.SUITES[suite].seconds
    assert "logistic" in choice.models
    assert choice.seconds <= suites.SUITES[suite].seconds


def test_something_is_left_whatever_the_size(project):
    assert suites.choose("quick", project, 10**8, 1000).models == ["logistic"]


def test_twice_the_rows_cost_a_kernel_svc_four_times_as_much(project):
    entry = project.classifiers["rbf_svc"]
    seconds = [suites.fit_seconds(entry, rows, 20) for rows in (20_000, 40_000)]
    assert seconds[1] / seconds[0] == pytest.approx(4, rel=0.01)


def test_exact_ccp_counts_only_within_its_budget(project):
    """Where exact CCP would exceed the budget, the annealed solver is used, and counts."""
    entry = project.classifiers["ldep_paper"]
    assert entry.budget is not None
    assert suites.fit_seconds(entry, 300, 5) <= entry.budget.seconds
    assert suites.fit_seconds(entry, 20_000, 40) < 5


def test_the_budget_of_ebm_counts_while_tuning_too(project):
    """On wide data ranking the pairs of features would take longer than everything else."""
    entry = project.classifiers["ebm_tuned"]
    assert entry.budget is not None
    assert suites.fit_seconds(entry, 2600, 1500) < entry.budget.seconds
    assert suites.trial_seconds(entry, project.tuning, 2600, 1500) < entry.budget.seconds
    assert suites.fit_seconds(entry, 4000, 50) < 5


def test_a_class_that_nobody_has_measured_has_an_estimate_too(project):
    entry = project.classifiers["rbf_svc"].model_copy(update={"class_": "some.Other"})
    assert 0 < suites.fit_seconds(entry, 1000, 10) < 10
