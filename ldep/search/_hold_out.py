"""Choose the weight of the penalty with rows that are held out.

With two classes, a model with the usual penalty shows in which direction to look. Where it makes many errors even on
the rows that it was trained on, a much weaker penalty is tried; otherwise a stronger one. Only one direction is tried,
so a choice costs two fits on a part of the rows. With more classes these errors are a poor guide: a weaker and a
stronger penalty are both tried, with a loose tolerance. All numbers here were chosen on the problems of
`benchmarks/development.py` and `benchmarks/development_classes.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split


class Rule(NamedTuple):
    """How a factor of the usual penalty is chosen: the weaker one, and whether it and a stronger one are both tried.

    The fits have a tolerance of their own: comparing models takes no more precision.
    """

    tol: float
    weaker: float
    both: bool


OF_TWO, OF_MANY = Rule(0.05, 1e-3, both=False), Rule(0.1, 0.1, both=True)
STRONGER = 3.0
# With fewer rows a choice is mostly noise; of more rows per class a sample is as good.
FEWEST_ROWS, MOST_ROWS_PER_CLASS = 80, 500
TEST_SHARE = 0.25
# There is nothing to gain below this error on rows that are held out.
LOW_ERROR = 0.02
# Errors on training rows are many from this share of those on rows that are held out.
MANY_ERRORS = 0.3
# Another penalty must lower the error by more than this: a smaller difference is noise.
GAIN = 0.01


class Errors(NamedTuple):
    """Weighted shares of misclassified rows."""

    train: float
    test: float


def hold_out(own: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray] | None:
    """Row numbers of a training and of a test part, each with all classes.

    None where there are too few rows, or one part would lack a class.
    """
    counts = np.bincount(own)
    n_rows = min(len(own), MOST_ROWS_PER_CLASS * len(counts))
    if len(own) < FEWEST_ROWS or counts.min() < 2:
        return None
    n_test = max(round(TEST_SHARE * n_rows), len(counts))
    train, test = train_test_split(
        np.arange(len(own)),
        train_size=n_rows - n_test,
        test_size=n_test,
        stratify=own,
        random_state=int(rng.integers(2**31)),
    )
    if any(len(np.unique(own[part])) < len(counts) for part in (train, test)):
        return None
    return np.sort(train), np.sort(test)


def choose_factor(errors: Callable[[float, float], Errors], n_classes: int) -> float:
    """Choose the factor of the usual penalty: 1, or one with fewer errors on rows that are held out.

    `errors` takes a factor and the tolerance of the fit.
    """
    rule = OF_MANY if n_classes > 2 else OF_TWO
    usual = errors(1.0, rule.tol)
    if usual.test < LOW_ERROR:
        return 1.0
    others = [rule.weaker, STRONGER]
    if not rule.both:
        others = others[:1] if usual.train > MANY_ERRORS * usual.test else others[1:]
    found = {factor: errors(factor, rule.tol).test for factor in others}
    best = min(found, key=found.__getitem__)
    return best if found[best] < usual.test - GAIN else 1.0
