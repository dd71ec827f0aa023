"""Scores over data sets and over folds, and CPU times, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ldep_pipeline.report import scores
from tests.support import own_reported, reported

GOOD = [0.90, 0.91, 0.92, 0.90, 0.91]


def test_means_and_sample_deviations_are_over_the_folds():
    accuracies = reported.accuracies_of(reported.EXAMPLE)
    assert accuracies.datasets == ["haberman", "wdbc", "mine"]
    assert accuracies.mean.loc["mine"].tolist() == pytest.approx([70, 70, 60, 90])
    assert accuracies.std.loc["mine", "ldep"] == pytest.approx(np.std([60, 80], ddof=1))


def test_a_model_with_a_failed_fold_or_without_a_data_set_is_not_complete():
    accuracies = reported.accuracies_of(reported.EXAMPLE)
    assert accuracies.complete == ["ldep", "ldep_cv", "rbf_svc"]
    assert np.isnan(accuracies.mean.loc["haberman", "<odd> & own"])  # one of two folds failed
    assert accuracies.failed["<odd> & own"].tolist() == [True, False, False]


def test_the_summary_over_data_sets_has_the_population_deviation():
    summary = reported.accuracies_of(reported.EXAMPLE).over_datasets()
    ldep = summary.loc["ldep"]  # of 76, 98 and 70
    assert ldep["mean"] == pytest.approx(244 / 3)
    assert ldep["std"] == pytest.approx(np.std([76, 98, 70], ddof=0))
    assert (ldep["median"], ldep["mad"]) == pytest.approx((76, 6))
    assert summary["datasets"].tolist() == [3, 3, 3, 1]


def test_the_best_of_a_row_is_decided_by_the_printed_mean():
    accuracies = reported.accuracies_of({"one": {"a": [0.9004], "b": [0.9003], "c": [0.89]}})
    assert accuracies.best().loc["one"].tolist() == [True, True, False]
    assert reported.accuracies_of(reported.EXAMPLE).best().sum().tolist() == [0, 2, 0, 1]


def test_the_interval_uses_the_corrected_error_of_nadeau_and_bengio():
    [model] = scores.of_folds(own_reported.results({"a": GOOD}), own_reported.ACCURACY, test_share=0.25)
    half = stats.t.ppf(0.975, 4) * np.std(GOOD, ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    assert model.interval == pytest.approx((np.mean(GOOD) - half, np.mean(GOOD) + half))


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [0.5]])
def test_equal_folds_and_a_single_fold_have_no_interval(values):
    [model] = scores.of_folds(own_reported.results({"a": values}), own_reported.ACCURACY, test_share=0.5)
    assert model.interval is None


def test_an_interval_stays_within_the_range_of_the_metric():
    [model] = scores.of_folds(own_reported.results({"a": [1.0, 0.9, 1.0]}), own_reported.ACCURACY, test_share=0.5)
    assert model.interval[1] == 1.0


def test_the_best_model_comes_first_and_models_without_a_complete_result_last():
    values = {"failed": [0.99, None], "poor": [0.5, 0.6], "good": [0.8, 0.9]}
    models = scores.of_folds(own_reported.results(values), own_reported.ACCURACY, test_share=0.5)
    assert [one.model for one in models] == ["good", "poor", "failed"]
    assert models[-1].problem == "failed on 1 of 2 folds"


def test_where_lower_is_better_the_lowest_comes_first():
    values = {"high": [0.7, 0.8], "low": [0.3, 0.4], "svc": [float("nan")] * 2}
    models = scores.of_folds(own_reported.results(values, "log_loss"), own_reported.LOG_LOSS, test_share=0.5)
    assert [one.model for one in models] == ["low", "high", "svc"]
    assert models[-1].problem == "has no log-loss"


def test_the_cost_of_a_model_is_its_tuning_and_its_fits():
    cost = scores.costs(reported.results(reported.EXAMPLE, **reported.EXAMPLE_COLUMNS))
    assert cost.loc["ldep", ["tuning", "fitting", "total"]].tolist() == pytest.approx([180, 1.5, 181.5])
    assert cost.loc["ldep_cv", "total"] == pytest.approx(1.5)
    assert cost["share"].sum() == pytest.approx(1)


def test_fits_and_their_seconds_are_counted_once_per_fold_not_per_metric():
    results = reported.results(reported.EXAMPLE, fit_cpu_seconds={"rbf_svc": 2.0})
    assert scores.fits_per_model(results)["rbf_svc"] == 6
    assert scores.fit_seconds(results)["rbf_svc"].tolist() == [2.0, 2.0, 2.0]


def test_a_study_that_two_models_share_counts_once_in_the_total():
    shared = reported.results(reported.EXAMPLE, tune_cpu_seconds={"ldep": 30.0, "ldep_cv": 30.0})
    alone = reported.results(reported.EXAMPLE, tune_cpu_seconds={"ldep": 30.0})
    assert scores.total_cost(shared) == scores.total_cost(alone) == pytest.approx(scores.costs(alone)["total"].sum())
