"""Whether the winner is really better than another model on one data set.

Both models were measured on the same folds, so their difference is taken fold by fold. Its interval uses the corrected
resampled t-test of Nadeau and Bengio. The intervals of all comparisons hold together with 95 % confidence (Bonferroni),
and a difference is clear if its interval does not contain zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pipeline.reporting.own.leaderboard import LEVEL, Entry, corrected_error, quantile, varies
from pipeline.reporting.own.metric_text import MetricText

Verdict = Literal["better", "worse", "no clear difference", "equal in every fold", "not tested"]


@dataclass(frozen=True)
class Comparison:
    """The winner against another model: positive numbers are in favour of the winner."""

    other: str
    difference: float
    low: float | None
    high: float | None
    folds_won: int
    folds_lost: int
    verdict: Verdict


def against(winner: Entry, others: Sequence[Entry], metric: MetricText, test_share: float) -> list[Comparison]:
    confidence = 1 - (1 - LEVEL) / max(len(others), 1)
    return [_compare(winner, other, metric, test_share, confidence) for other in others]


def _compare(winner: Entry, other: Entry, metric: MetricText, test_share: float, confidence: float) -> Comparison:
    gains = metric.sign * (winner.values - other.values)
    mean = float(np.mean(gains))
    low = high = None
    if varies(gains):
        half = quantile(gains, confidence) * corrected_error(gains, test_share)
        low, high = mean - half, mean + half
    won, lost = int((gains > 0).sum()), int((gains < 0).sum())
    return Comparison(other.model, mean, low, high, won, lost, _verdict(gains, low, high))


def _verdict(gains: np.ndarray, low: float | None, high: float | None) -> Verdict:
    if low is None or high is None:
        return "not tested" if gains.any() else "equal in every fold"
    if low > 0:
        return "better"
    return "worse" if high < 0 else "no clear difference"
