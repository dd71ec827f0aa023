"""Conformal prediction sets: which classes a row may have, from scores of rows that a model has not seen.

The score of a class k says how much decision values speak for another class:

    s(x, k) = max over j != k of d_j(x) - d_k(x).

It is the logarithm of how much likelier the likeliest other class is, where the d_k are log-probabilities up to a
common term and a common factor, as the scores of the logistic loss are. With two classes s(x, 1) = -tau(x) and
s(x, 0) = tau(x). Where several models vote, the d_k are the weighted means of their scores, and not of their votes: a
mean of votes is 1 only if all models are sure, which those that have seen the row are more often.

A class is in the set of a row if its score is at most a limit q. For the coverage c the limit is the score of rank
ceil(c (n + 1)) among the scores s(x_i, y_i) of n rows [1]_. If these rows and a new one are exchangeable, and the model
has seen none of them, the set of the new row contains its class with a probability of at least c. A class may have a
limit of its own, from its own rows: the statement then holds for the rows of this class [2]_.

.. [1] V. Vovk, A. Gammerman and G. Shafer, "Algorithmic Learning in a Random World", 2005.
.. [2] V. Vovk, D. Lindsay, I. Nouretdinov and A. Gammerman, "Mondrian confidence machine", 2003.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldep.model._decisions import unfolded

# Limits are kept for these coverages, in thousandths. A coverage between two of them gets the higher one.
STEPS = 1000
LARGEST_COVERAGE = 1.0 - 1.0 / STEPS
# What rounding may cost, as a share of a rank.
ROUNDING = 1e-9


def class_scores(decision: np.ndarray) -> np.ndarray:
    """The score of each class, one column per class, from decision values."""
    columns = unfolded(decision)
    ordered = np.sort(columns, axis=1)
    best, second = ordered[:, -1:], ordered[:, -2:-1]
    is_best = columns.argmax(axis=1)[:, None] == np.arange(columns.shape[1])
    return np.where(is_best, second, best) - columns


def check_coverage(coverage: float) -> None:
    """Refuse a coverage for which there is no limit."""
    is_number = isinstance(coverage, (int, float, np.number)) and not isinstance(coverage, bool)
    if not is_number or not 0.0 < coverage <= LARGEST_COVERAGE:
        raise ValueError(f"coverage is {coverage!r}; it must be a number above 0 and at most {LARGEST_COVERAGE:g}.")


@dataclass(frozen=True, eq=False)
class SetLimits:
    """The limits of the scores, for each coverage.

    Parameters
    ----------
    overall : ndarray of shape (n_coverages,)
        The limits of all classes. Infinite where the rows are too few for the coverage: the sets then contain all
        classes.
    by_class : ndarray of shape (n_classes, n_coverages)
        The limits from the rows of each class alone.
    """

    overall: np.ndarray
    by_class: np.ndarray

    @classmethod
    def of(
        cls, decision: np.ndarray, own: np.ndarray, weight: np.ndarray | None = None, *, unit: float | None = None
    ) -> SetLimits:
        """The limits from rows with these decision values, numbers of classes and weights.

        `unit` is the weight of a new row; None is the mean weight.
        """
        weight = np.ones(len(own)) if weight is None else weight
        unit = float(weight.sum() / max(np.count_nonzero(weight), 1)) if unit is None else unit
        scores = class_scores(decision)
        right = scores[np.arange(len(own)), own]
        by_class = [_limits(right[own == k], weight[own == k], unit) for k in range(scores.shape[1])]
        return cls(_limits(right, weight, unit), np.array(by_class))

    def at(self, coverage: float, classwise: bool = False) -> np.ndarray:
        """The limit of each class."""
        check_coverage(coverage)
        step = int(np.ceil(coverage * STEPS - 1e-6)) - 1
        return self.by_class[:, step] if classwise else np.full(len(self.by_class), self.overall[step])

    def contains(self, decision: np.ndarray, coverage: float, classwise: bool = False) -> np.ndarray:
        """Whether the set of each row with these decision values contains each class, one column per class."""
        return class_scores(decision) <= self.at(coverage, classwise)


def _limits(scores: np.ndarray, weight: np.ndarray, unit: float) -> np.ndarray:
    """For each coverage the smallest score at which the rows reach it, if a new row counts as one beyond all scores."""
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weight[order])
    total = (reached[-1] if len(reached) else 0.0) + unit
    needed = np.arange(1, STEPS) / STEPS * total * (1.0 - ROUNDING)
    ranks = np.searchsorted(reached, needed, side="left")
    return np.append(scores[order], np.inf)[ranks]
