"""Accuracies per data set and model, and their summary, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import reported


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
