"""Intervals of metrics, the estimate from probabilities, and the rule for a missed promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ldep_pipeline.commands import measured
from ldep_pipeline.commands.measured import Answers, Value
from ldep_pipeline.metrics.evaluation import Classes
from ldep_pipeline.registry.origin import Promise


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(measured, "DRAWS", 50)
    monkeypatch.setattr(measured, "FEWEST_DRAWS", 50)


CLASSES = Classes(np.array(["a", "b"]), 1)


def answers(count: int, seed: int, clusters: np.ndarray | None = None) -> Answers:
    """Answers whose probabilities are right."""
    rng = np.random.default_rng(seed)
    decisions = rng.normal(scale=1.5, size=count)
    second = 1 / (1 + np.exp(-decisions))
    truth = (rng.random(count) < second).astype(int)
    return Answers(
        CLASSES.labels,
        (decisions >= 0).astype(int),
        decisions,
        np.column_stack([1 - second, second]),
        truth,
        clusters,
    )


@pytest.mark.parametrize(("right", "rows"), [(0, 5), (5, 5), (3, 10), (97, 100)])
def test_the_exact_interval_is_that_of_scipy(right, rows):
    found = measured.exact(right, rows)
    expected = stats.binomtest(right, rows).proportion_ci(0.95, method="exact")
    assert found == pytest.approx((expected.low, expected.high))


def test_groups_that_agree_widen_the_interval():
    rows = answers(300, 0)
    repeated = Answers(
        CLASSES.labels,
        *(np.repeat(values, 10, axis=0) for values in (rows.predicted, rows.decisions, rows.probabilities, rows.truth)),
    )
    grouped = Answers(
        CLASSES.labels,
        repeated.predicted,
        repeated.decisions,
        repeated.probabilities,
        repeated.truth,
        np.repeat(np.arange(300), 10),
    )
    as_rows = measured.measure(repeated, CLASSES).metrics["log_loss"].interval
    as_groups = measured.measure(grouped, CLASSES, "group").metrics["log_loss"].interval
    ratio = (as_groups[1] - as_groups[0]) / (as_rows[1] - as_rows[0])
    assert ratio == pytest.approx(np.sqrt(10), rel=0.4)


def test_the_interval_of_an_estimate_has_the_metric_of_these_rows_if_the_probabilities_are_right():
    """In 92 % of the cases with so few draws; of 30 cases, 23 or more with a probability of 99.9 %."""
    names, hits = ("accuracy", "f1", "log_loss"), 0
    for seed in range(30):
        rows = answers(100, seed)
        estimate = measured.estimate(rows, CLASSES, training_rows=10**9).metrics
        truth = measured.measure(rows, CLASSES).metrics
        name = names[seed % 3]
        low, high = estimate[name].interval
        hits += low <= truth[name].value <= high
    assert hits >= 23


def test_few_rows_of_training_widen_an_estimate():
    rows = answers(100, 1)
    wide = measured.estimate(rows, CLASSES, training_rows=100).metrics["accuracy"]
    narrow = measured.estimate(rows, CLASSES, training_rows=10**9).metrics["accuracy"]
    widths = [value.interval[1] - value.interval[0] for value in (wide, narrow)]
    assert widths[0] / widths[1] == pytest.approx(np.sqrt(2), rel=1e-6)
    assert wide.value == narrow.value


@pytest.mark.parametrize(
    ("name", "value", "interval", "is_missed"),
    [
        ("accuracy", 0.80, (0.76, 0.84), True),
        ("accuracy", 0.86, (0.82, 0.90), False),  # less than promised, but that may be chance
        ("accuracy", 0.97, (0.95, 0.99), False),
        ("log_loss", 1.10, (1.05, 1.15), True),
        ("log_loss", 0.20, (0.10, 0.30), False),
    ],
)
def test_a_promise_is_missed_if_chance_hardly_explains_the_shortfall(name, value, interval, is_missed):
    found = measured.verdict(name, Value(value, interval), Promise(0.9, 0.01), folds=5)
    assert found.is_missed == is_missed


def test_without_an_interval_there_is_no_verdict():
    assert not measured.verdict("accuracy", Value(0.1, None), Promise(0.9, 0.01), folds=5).is_missed
    assert not measured.verdict("accuracy", Value(0.1, (0, 0.2)), Promise(0.9, None), folds=1).is_missed


def test_a_kept_promise_is_called_missed_in_few_cases():
    """Means of five folds and of new rows with the same expectation: one in forty is called missed."""
    rng, missed = np.random.default_rng(0), 0
    for _ in range(2000):
        folds = rng.binomial(60, 0.85, 5) / 60
        right = int(rng.binomial(200, 0.85))
        promise = Promise(float(folds.mean()), float(folds.std(ddof=1) / np.sqrt(5)))
        missed += measured.verdict("accuracy", Value(right / 200, measured.exact(right, 200)), promise, 5).is_missed
    assert missed / 2000 < 0.035
