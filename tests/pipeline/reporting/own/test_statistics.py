"""The intervals and comparisons of one data set, against values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pipeline.reporting.own import leaderboard
from tests.support import own_reported

GOOD, SIMILAR, BAD = [0.90, 0.91, 0.92, 0.90, 0.91], [0.91, 0.90, 0.91, 0.91, 0.90], [0.70, 0.71, 0.72, 0.70, 0.69]


def test_the_interval_uses_the_corrected_error_of_nadeau_and_bengio():
    [entry] = leaderboard.entries(own_reported.results({"a": GOOD}), own_reported.ACCURACY, test_share=0.25)
    half = stats.t.ppf(0.975, 4) * np.std(GOOD, ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    assert (entry.low, entry.high) == pytest.approx((np.mean(GOOD) - half, np.mean(GOOD) + half))


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [0.5]])
def test_equal_folds_and_a_single_fold_have_no_interval(values):
    [entry] = leaderboard.entries(own_reported.results({"a": values}), own_reported.ACCURACY, test_share=0.5)
    assert (entry.low, entry.high) == (None, None)


def test_an_interval_stays_within_the_range_of_the_metric():
    [entry] = leaderboard.entries(own_reported.results({"a": [1.0, 0.9, 1.0]}), own_reported.ACCURACY, test_share=0.5)
    assert entry.high == 1.0


def test_the_best_model_comes_first_and_models_without_a_complete_result_last():
    values = {"failed": [0.99, None], "poor": [0.5, 0.6], "good": [0.8, 0.9]}
    entries = leaderboard.entries(own_reported.results(values), own_reported.ACCURACY, test_share=0.5)
    assert [entry.model for entry in entries] == ["good", "poor", "failed"]
    assert entries[-1].problem == "failed on 1 of 2 folds"


def test_where_lower_is_better_the_lowest_comes_first():
    values = {"high": [0.7, 0.8], "low": [0.3, 0.4], "svc": [float("nan")] * 2}
    entries = leaderboard.entries(own_reported.results(values, "log_loss"), own_reported.LOG_LOSS, test_share=0.5)
    assert [entry.model for entry in entries] == ["low", "high", "svc"]
    assert entries[-1].problem == "has no log loss"


def test_a_clear_lead_is_told_from_a_small_one():
    report = own_reported.report({"good": GOOD, "similar": SIMILAR, "bad": BAD, "copy": GOOD})
    verdicts = {comparison.other: comparison.verdict for comparison in report.comparisons}
    assert verdicts == {"similar": "no clear difference", "bad": "better", "copy": "equal in every fold"}
    bad = next(comparison for comparison in report.comparisons if comparison.other == "bad")
    gains = np.subtract(GOOD, BAD)
    half = stats.t.ppf(1 - 0.05 / 3 / 2, 4) * np.std(gains, ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    assert (bad.low, bad.high) == pytest.approx((gains.mean() - half, gains.mean() + half))


def test_a_lead_that_is_the_same_in_every_fold_cannot_be_tested():
    report = own_reported.report({"a": [0.75, 0.5], "b": [0.5, 0.25]})
    [comparison] = report.comparisons
    assert (comparison.verdict, comparison.low, comparison.folds_won) == ("not tested", None, 2)
