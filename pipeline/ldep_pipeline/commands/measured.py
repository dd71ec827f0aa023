"""Metrics of answers whose outcomes are known, or are estimated, with intervals; and whether a promise is kept.

With outcomes, an interval says which values of a metric the rows are compatible with, at a level of 95 %:

- For independent rows, accuracy, recall and precision are shares of rows, and have the exact interval of Clopper and
  Pearson. The other metrics have the percentiles of a bootstrap that draws rows.
- If the model's folds kept groups together, or were by time, rows are not independent. The bootstrap then draws whole
  groups, or blocks of consecutive rows, for every metric.

Without outcomes, classes are drawn from the probabilities of the model, a thousand times, and each draw is measured.
The mean is the estimate. The percentiles say how far the metric of these rows can be from it by chance; they are
widened by the factor sqrt(1 + n / N) for n rows and N rows of training, because the probabilities were fitted to N rows
and are as uncertain as a mean over them. The assumption is that the probabilities are right for these rows.

A promise, the mean of a cross-validation, has an interval of its own, by Student's t over the folds. The difference of
value and promise has the interval that Zou and Donner's method (MOVER) makes of both, and the promise is missed if this
interval lies wholly on the wrong side of 0: if the shortfall is more than the root of the sum of the squares of the two
half widths that point towards each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from tqdm import tqdm

from ldep_pipeline.metrics.evaluation import Classes, evaluate
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.registry.origin import Promise

LEVEL = 0.95
DRAWS = 1000
FEWEST_DRAWS = 200
MOST_CELLS = 5_000_000  # rows times draws; beyond it there are fewer draws
BLOCKS = 20  # of consecutive rows, if the folds were by time
USABLE = 0.95  # share of the draws in which a metric must have a value, for an interval
SEED = 0
NOT_ESTIMATED = ("calibration_error",)  # the assumption is that it is nothing but chance
Interval = tuple[float, float]


@dataclass(frozen=True)
class Value:
    """A metric, and its interval; None if it has none."""

    value: float
    interval: Interval | None


@dataclass(frozen=True)
class Answers:
    """What a model said about rows: the number of the answered class, decision values and probabilities, if any.

    `truth` has the number of the true class of each row. `clusters` has the group, or the block, of each row.
    """

    labels: np.ndarray
    predicted: np.ndarray
    decisions: np.ndarray | None
    probabilities: np.ndarray | None
    truth: np.ndarray | None = None
    clusters: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.predicted)


class _Recorded:
    """Answers in the form of a fitted pipeline, whose rows are the numbers of the answers."""

    def __init__(self, answers: Answers) -> None:
        self.classes_ = answers.labels
        decisions, probabilities = answers.decisions, answers.probabilities
        if decisions is not None:
            self.decision_function = lambda rows: decisions[rows]
        if probabilities is not None:
            self.predict_proba = lambda rows: probabilities[rows]


@dataclass(frozen=True)
class Measurement:
    """All metrics of some rows; recall and precision of each class; and the counts of each class."""

    metrics: dict[str, Value]
    recall: dict[str, Value]
    precision: dict[str, Value]
    actual: dict[str, float]
    answered: dict[str, int]
    method: str


def measure(answers: Answers, classes: Classes, by: str = "rows") -> Measurement:
    """The metrics of answers with outcomes. `by` says what is independent: rows, group or time."""
    truth = answers.truth
    assert truth is not None
    everything = np.arange(len(answers))
    point = _statistics(answers, truth, everything, classes)
    rng = np.random.default_rng(SEED)
    count = _draw_count(len(answers))
    samples = [
        _statistics(answers, truth, rows, classes)
        for rows in tqdm(_resampled(answers, count, rng), total=count, unit=" draws", disable=None, leave=False)
    ]
    intervals = {name: _percentiles([sample[name] for sample in samples]) for name in point}
    if answers.clusters is None:
        intervals |= _exact_intervals(answers, truth)
    method = {
        "rows": "rows drawn with replacement; exact (Clopper-Pearson) for shares of rows",
        "group": "whole groups drawn with replacement",
        "time": f"{BLOCKS} blocks of consecutive rows drawn with replacement",
    }[by]
    return _measurement(answers, point, intervals, np.bincount(truth, minlength=len(classes.labels)), method)


def estimate(answers: Answers, classes: Classes, training_rows: int) -> Measurement:
    """The metrics that answers without outcomes would have, if the probabilities are right."""
    probabilities = answers.probabilities
    assert probabilities is not None
    rng = np.random.default_rng(SEED)
    thresholds = np.cumsum(probabilities, axis=1)[:, :-1]
    everything, count = np.arange(len(answers)), _draw_count(len(answers))
    samples = []
    for _ in tqdm(range(count), unit=" draws", disable=None, leave=False):
        drawn = (rng.random(len(answers))[:, None] > thresholds).sum(axis=1)
        samples.append(_statistics(answers, drawn, everything, classes))
    widening = math.sqrt(1 + len(answers) / training_rows)
    point: dict[Key, float | None] = {}
    intervals: dict[Key, Interval | None] = {}
    for name in samples[0]:
        if name[1] in NOT_ESTIMATED:
            continue
        values = [value for sample in samples if (value := sample[name]) is not None]
        if len(values) < USABLE * count:
            continue
        mean = float(np.mean(values))
        low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        point[name] = mean
        intervals[name] = _clipped(name, (mean - widening * (mean - low), mean + widening * (high - mean)))
    method = f"classes drawn from the probabilities, widened by {widening:.3g} for the rows that these were fitted to"
    return _measurement(answers, point, intervals, probabilities.sum(axis=0), method)


Key = tuple[str, str]
"""A kind of number ("metric", "recall" or "precision"), and the metric or the class."""


def _statistics(answers: Answers, truth: np.ndarray, rows: np.ndarray, classes: Classes) -> dict[Key, float | None]:
    predicted, actual = answers.predicted[rows], truth[rows]
    values = evaluate(_Recorded(answers), rows, classes.labels[actual], classes.labels[predicted], classes)
    found: dict[Key, float | None] = {("metric", name): value for name, value in values.items()}
    for number, label in enumerate(classes.labels):
        right = int(np.count_nonzero((predicted == number) & (actual == number)))
        for kind, total in (("recall", actual == number), ("precision", predicted == number)):
            of_class = int(np.count_nonzero(total))
            found[kind, str(label)] = right / of_class if of_class else None
    return found


def _resampled(answers: Answers, count: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Row numbers of as many rows, or groups of rows, as there are, drawn with replacement."""
    if answers.clusters is None:
        for _ in range(count):
            yield rng.integers(0, len(answers), len(answers))
        return
    order = np.argsort(answers.clusters, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(answers.clusters[order])) + 1)
    for _ in range(count):
        yield np.concatenate([parts[number] for number in rng.integers(0, len(parts), len(parts))])


def _exact_intervals(answers: Answers, truth: np.ndarray) -> dict[Key, Interval | None]:
    right = answers.predicted == truth
    found: dict[Key, Interval | None] = {("metric", "accuracy"): exact(int(right.sum()), len(right))}
    for number, label in enumerate(answers.labels):
        for kind, rows in (("recall", truth == number), ("precision", answers.predicted == number)):
            found[kind, str(label)] = exact(int(right[rows].sum()), int(rows.sum())) if rows.any() else None
    return found


def exact(right: int, rows: int) -> Interval:
    """Clopper and Pearson's interval of a share of rows."""
    tail = (1 - LEVEL) / 2
    low = float(stats.beta.ppf(tail, right, rows - right + 1)) if right else 0.0
    high = float(stats.beta.isf(tail, right + 1, rows - right)) if right < rows else 1.0
    return low, high


def _percentiles(values: list[float | None]) -> Interval | None:
    found = [value for value in values if value is not None]
    if len(found) < USABLE * len(values):
        return None
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _clipped(name: Key, interval: Interval) -> Interval:
    if name[0] != "metric":
        return max(interval[0], 0.0), min(interval[1], 1.0)
    metric = METRICS[name[1]]
    return metric.clipped(interval[0]), metric.clipped(interval[1])


def _draw_count(rows: int) -> int:
    return int(np.clip(MOST_CELLS // max(rows, 1), FEWEST_DRAWS, DRAWS))


def _measurement(
    answers: Answers,
    point: dict[Key, float | None],
    intervals: dict[Key, Interval | None],
    actual: np.ndarray,
    method: str,
) -> Measurement:
    def of_kind(kind: str) -> dict[str, Value]:
        return {
            name: Value(value, intervals.get((kind_, name)))
            for (kind_, name), value in point.items()
            if kind_ == kind and value is not None
        }

    labels = [str(label) for label in answers.labels]
    answered = np.bincount(answers.predicted, minlength=len(labels)).tolist()
    counts = dict(zip(labels, actual.tolist())), dict(zip(labels, answered))
    return Measurement(of_kind("metric"), of_kind("recall"), of_kind("precision"), *counts, method)


@dataclass(frozen=True)
class Verdict:
    """A metric against its promise: how much better it is, by how much it may be better at most, and what follows.

    `most` is the better end of the interval of the difference; None if value or promise have no interval.
    """

    metric: str
    promised: Promise
    gain: float
    most: float | None

    @property
    def is_missed(self) -> bool:
        return self.most is not None and self.most < 0


def promised_interval(promise: Promise, folds: int) -> Interval | None:
    """Student's interval of the mean over the folds; None for a single fold."""
    if promise.standard_error is None or folds < 2:
        return None
    half = float(stats.t.ppf((1 + LEVEL) / 2, folds - 1)) * promise.standard_error
    return promise.mean - half, promise.mean + half


def verdict(name: str, found: Value, promise: Promise, folds: int) -> Verdict:
    """Whether a metric keeps its promise."""
    metric, of_promise = METRICS[name], promised_interval(promise, folds)
    gain = metric.gain(found.value, promise.mean)
    if found.interval is None or of_promise is None:
        return Verdict(name, promise, gain, None)
    # The ends that point towards each other: the better one of what was found, the worse one of the promise.
    better, worse = (1, 0) if metric.higher_is_better else (0, 1)
    half_found = abs(found.interval[better] - found.value)
    half_promised = abs(promise.mean - of_promise[worse])
    return Verdict(name, promise, gain, gain + math.hypot(half_found, half_promised))


def to_json(measurement: Measurement) -> dict[str, Any]:
    def plain(values: dict[str, Value]) -> dict[str, Any]:
        return {
            name: {"value": value.value, "interval": None if value.interval is None else list(value.interval)}
            for name, value in values.items()
        }

    return {
        "metrics": plain(measurement.metrics),
        "recall": plain(measurement.recall),
        "precision": plain(measurement.precision),
        "actual": measurement.actual,
        "answered": measurement.answered,
        "interval": {"level": LEVEL, "method": measurement.method},
    }
