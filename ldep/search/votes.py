"""The vote of a model: its decision values, limited to what the other models of an ensemble can outvote.

With two classes it is the decision value tau, clipped to [-1, 1]. With more, a model has one vote, which it shares out
among the classes by the sparsemax [1]_ of its scores s_k: the point of the simplex nearest to them,

    v_k = max(0, s_k - t),   with t such that the sum over the classes is 1.

A class whose score exceeds all others by the margin 1 gets the whole vote, as tau >= 1 is a whole vote for the second
class. The two are the same for two classes: sparsemax(tau / 2, -tau / 2) is (1 + v) / 2 and (1 - v) / 2, where v is tau
clipped to [-1, 1].

References
----------
.. [1] A. F. T. Martins and R. F. Astudillo, "From softmax to sparsemax: a sparse model of attention and multi-label
   classification", ICML 2016.
"""

from __future__ import annotations

import numpy as np


def cast_votes(decision: np.ndarray) -> np.ndarray:
    """The votes for decision values of shape (n_samples,) or, with more than two classes, (n_samples, n_classes)."""
    return np.clip(decision, -1.0, 1.0) if decision.ndim == 1 else sparsemax(decision)


def sparsemax(scores: np.ndarray) -> np.ndarray:
    """The nearest points of the simplex, row by row."""
    # The shift changes nothing but the rounding: the largest scores become the most exact.
    scores = scores - scores.max(axis=1, keepdims=True)
    descending = -np.sort(-scores, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    count = np.arange(1, scores.shape[1] + 1)
    size = (descending * count > excess).sum(axis=1)
    threshold = np.take_along_axis(excess, size[:, None] - 1, axis=1) / size[:, None]
    return np.maximum(scores - threshold, 0.0)


def right_votes(y: np.ndarray, n_classes: int) -> np.ndarray:
    """The votes that are right: y itself with two classes (-1 and +1), else one row of zeros and a one per sample."""
    return y if n_classes == 2 else np.eye(n_classes)[y.astype(np.intp)]
