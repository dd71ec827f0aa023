"""How long training takes, told by small fits on samples of the rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from ldep_pipeline.execution import pilot, pools
from ldep_pipeline.fitting.specs import Classifier, Impute
from ldep_pipeline.fitting.training_data import Partition, TrainingData, stratified_folds
from tests.support import tiny


class SlowByRows(GaussianNB):
    """Takes a fixed time for each row."""

    seconds = 2e-4

    def fit(self, X: Any, y: Any) -> SlowByRows:
        time.sleep(self.seconds * len(y))
        return super().fit(X, y)


def data(rows: int, rare: int = 0) -> TrainingData:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(rows) < (rare or rows // 3), "a", "b")
    return TrainingData(rng.normal(size=(rows, 2)), y, Partition(stratified_folds(y, 5, 0)[:, None]), ["p", "q"], "y")


def task(entry: Classifier, rows: int, inner_folds: int = 0) -> pilot.PilotTask:
    return pilot.PilotTask("model", entry, Impute(), rows, inner_folds)


@pytest.mark.parametrize("rows", [40, 240, 5_000, 1_000_000])
def test_samples_are_a_small_part_of_many_rows(rows):
    sizes = pilot.sample_sizes(rows)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == max(rows // 4, min(rows, 200))
    assert len(sizes) <= 3


def test_a_sample_has_rows_of_a_rare_class():
    whole = data(4000, rare=12)
    sample = pilot.sample_of(whole, 250)
    assert 240 < len(sample.y) < 280
    assert np.sum(sample.y == "a") == 10
    assert all(set(sample.y[sample.train_rows(fold)]) == {"a", "b"} for fold in range(sample.n_folds))


def test_the_time_of_all_rows_follows_from_samples():
    """0.2 ms for each of 3200 rows: the formula for a class that nobody has measured would say 0.2 s."""
    entry = Classifier(**{"class": f"{__name__}.SlowByRows"})
    timings = pilot.measure([task(entry, 3200)], pools.Inline(data(4000)))
    assert 0.3 < timings["model"].fit < 1.5
    assert timings["model"].trial == 0


def test_a_tuned_model_has_the_time_of_a_trial():
    entry = tiny.checked().classifiers["ldep"]
    timing = pilot.run_pilot(task(entry, 300, inner_folds=3), data(400))
    assert timing is not None
    assert timing.trial > 0


def test_a_model_that_fails_has_no_timing():
    entry = Classifier(**{"class": "tests.support.tiny.FailsOnFold", "params": {"rows": -1}})
    broken = Classifier(**{"class": "sklearn.svm.SVC", "params": {"C": -1.0}})
    assert pilot.run_pilot(task(broken, 300), data(400)) is None
    assert pilot.run_pilot(task(entry, 300), data(400)) is not None


def test_time_is_extrapolated_by_its_growth():
    assert pilot.extrapolated([100, 400], [1.0, 4.0], 1600, growth=4.0) == pytest.approx(16)
    assert pilot.extrapolated([100, 400], [1.0, 16.0], 1600, growth=4.0) == pytest.approx(16 * 4**1.5)
    assert pilot.extrapolated([400], [1.0], 400, growth=1.0) == 1.0
    assert pilot.extrapolated([100, 400], [4.0, 1.0], 1600, growth=0.5) == 1.0
