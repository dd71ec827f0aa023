"""The same results by any metric: which way round the models are ranked, and which ones have no value."""

from __future__ import annotations

import pandas as pd
import pytest

from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.report import comparison, scores
from ldep_pipeline.report.report_data import COMPARED, ReportData
from tests.support import reported

LOSSES = {"ldep_cv": 0.2, "mlp": 0.3, "forest": 0.4}  # the SVC has no probabilities
SECONDS = {"ldep": 4.0, "ldep_cv": 1.0, "mlp": 2.0, "forest": 8.0, "rbf_svc": 0.5}


def example() -> ReportData:
    """Five models on ten data sets; by accuracy the forest is the best, by log-loss the self-tuning ℓ-DEP."""
    accuracy = {"ldep": 0.8, "ldep_cv": 0.82, "mlp": 0.81, "forest": 0.9, "rbf_svc": 0.79}
    folds: dict[str, reported.Folds] = {
        f"s{index}": {model: [value, value] for model, value in accuracy.items()} for index in range(10)
    }
    data = reported.report_data(folds, fit_cpu_seconds=SECONDS, tune_cpu_seconds={"ldep": 30.0, "forest": 60.0})
    return reported.with_metric(data, "log_loss", LOSSES)


def test_the_lowest_log_loss_is_the_best_and_a_model_without_probabilities_is_left_out():
    data = example().by(COMPARED["log_loss"])
    assert data.scores.best_first().to_dict() == pytest.approx(LOSSES)
    assert list(data.scores.best_first().index) == ["ldep_cv", "mlp", "forest"]
    assert data.scores.incomplete == ["ldep", "rbf_svc"]
    assert data.scores.best().loc["s0"].to_dict() == {
        "ldep": False,
        "ldep_cv": True,
        "mlp": False,
        "forest": False,
        "rbf_svc": False,
    }
    assert data.ranks is not None
    assert data.ranks.mean.to_dict() == {"ldep_cv": 1.0, "mlp": 2.0, "forest": 3.0}
    assert data.ranks.left_out == ["ldep", "rbf_svc"]


def test_less_log_loss_is_a_win_and_a_positive_difference():
    claims = [claim for claim in example().by(COMPARED["log_loss"]).claims if claim.other == "MLP"]
    assert [(claim.ours, claim.wins, claim.losses, claim.verdict) for claim in claims] == [("ldep_cv", 10, 0, "better")]
    assert claims[0].difference == pytest.approx(0.1)
    assert claims[0].posterior.better > 0.99


def test_by_another_measure_there_is_no_comparison_with_the_paper():
    data = reported.report_data()
    assert any("the paper" in claim.other for claim in data.claims)
    assert not any("the paper" in claim.other for claim in data.by(COMPARED["roc_auc"]).claims)


def test_times_are_compared_by_their_ratio():
    data = example().by(COMPARED["fit_time"])
    assert list(data.scores.best_first().index) == ["rbf_svc", "ldep_cv", "mlp", "ldep", "forest"]
    (claim,) = [claim for claim in data.claims if (claim.ours, claim.other) == ("ldep_cv", "MLP")]
    assert data.metric.gain_text(claim.difference) == "× 2"
    assert claim.verdict == "better"
    assert comparison.outcomes(data.scores).loc["ldep_cv", "mlp"] == (10, 0, 0)


def test_a_model_that_is_not_tuned_has_no_tuning_time():
    data = example().by(COMPARED["tuning_time"])
    assert data.scores.complete == ["ldep", "forest"]
    assert data.scores.mean.loc["s0", "ldep"] == 30.0
    assert data.ranks is None  # two models are too few to rank


def test_a_value_that_is_missing_on_one_fold_is_not_averaged_away():
    results = reported.results({"one": {"a": [0.5, 0.7], "b": [0.5, 0.7]}})
    hole = (results["metric"] == "roc_auc") & (results["model"] == "a") & (results["fold"] == 1)
    results["value"] = results["value"].mask(hole)
    assert pd.isna(scores.from_results(results, METRICS["roc_auc"]).mean.loc["one", "a"])
    assert scores.from_results(results).mean.loc["one", "a"] == pytest.approx(60)


def test_the_other_measures_of_a_page_are_those_that_models_can_be_compared_by():
    data = example()
    names = [metric.name for metric in data.other_metrics]
    assert names[-4:] == ["calibration_error", "fit_time", "tuning_time", "predict_time"]
    assert "accuracy" not in names
    alone = reported.with_metric(data, "log_loss", {"mlp": 0.5})
    assert METRICS["log_loss"] not in alone.other_metrics
