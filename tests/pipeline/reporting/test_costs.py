"""CPU seconds per model."""

from __future__ import annotations

import pytest

from pipeline.reporting import costs
from tests.support import reported


def test_the_cost_of_a_model_is_its_tuning_and_its_fits():
    cost = costs.per_model(reported.results(reported.EXAMPLE, **reported.EXAMPLE_COLUMNS))
    assert cost.loc["ldep", ["tuning", "fitting", "total"]].tolist() == pytest.approx([180, 1.5, 181.5])
    assert cost.loc["ldep_cv", "total"] == pytest.approx(1.5)
    assert cost["share"].sum() == pytest.approx(1)


def test_fits_and_their_seconds_are_counted_once_per_fold_not_per_metric():
    results = reported.results(reported.EXAMPLE, fit_cpu_seconds={"rbf_svc": 2.0})
    assert costs.fits_per_model(results)["rbf_svc"] == 6
    assert costs.fit_seconds(results)["rbf_svc"].tolist() == [2.0, 2.0, 2.0]


def test_a_study_that_two_models_share_counts_once_in_the_total():
    shared = reported.results(reported.EXAMPLE, tune_cpu_seconds={"ldep": 30.0, "ldep_cv": 30.0})
    alone = reported.results(reported.EXAMPLE, tune_cpu_seconds={"ldep": 30.0})
    assert costs.total(shared) == costs.total(alone) == pytest.approx(costs.per_model(alone)["total"].sum())
