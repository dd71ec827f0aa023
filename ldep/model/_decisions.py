"""Decision values and votes.

With two classes a decision value is one number, tau = s_1 - s_0, and the second class is predicted where it is not
negative. With more it is one column of scores s_k per class, and the largest is predicted. `TWO` and `MORE` are what
differs.

The vote of a member is its decision value, limited to what the other members can outvote. With two classes it is tau,
clipped to [-1, 1]. With more, a member has one vote, which it shares out among the classes by the sparsemax [1]_ of its
scores s_k: the point of the simplex nearest to them,

    v_k = max(0, s_k - t),   with t such that the sum over the classes is 1.

A class whose score exceeds all others by the margin 1 gets the whole vote, as tau >= 1 is a whole vote for the second
class. The two are the same for two classes: sparsemax(tau / 2, -tau / 2) is (1 + v) / 2 and (1 - v) / 2, where v is tau
clipped to [-1, 1].

.. [1] A. F. T. Martins and R. F. Astudillo, "From softmax to sparsemax: a sparse model of attention and multi-label
   classification", ICML 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

# Where all votes agree, the log-odds of their share are infinite. They are computed as if one vote in fifty were open.
OPEN_VOTES = 0.02


def sparsemax(scores: np.ndarray) -> np.ndarray:
    """The nearest points of the simplex, row by row."""
    # The shift changes nothing but the rounding: the largest scores become the most exact.
    scores = scores - scores.max(axis=1, keepdims=True)
    return np.maximum(scores - sparsemax_limit(scores)[0][:, None], 0.0)


def sparsemax_limit(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The t of the sparsemax of each row, and how many classes share the vote."""
    descending = -np.sort(-scores, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    count = np.arange(1, scores.shape[1] + 1)
    size = (descending * count > excess).sum(axis=1)
    return np.take_along_axis(excess, size[:, None] - 1, axis=1)[:, 0] / size, size


Table = Callable[[np.ndarray], np.ndarray]


class Form(NamedTuple):
    """How decision values and votes are written."""

    fold: Table  # decision values from one column per class
    unfold: Table  # one column per class from decision values, with the same differences between them
    numbers: Table  # the predicted class from decision values
    votes: Table  # the votes of a member from its decision values
    shares: Table  # the share of each class, one column per class, from votes
    vote: Literal["clip", "sparsemax"]  # the name of `votes`
    own_link: Literal["identity", "softmax"]  # the link of a model that was trained with the logistic loss
    last_wins: bool  # whether the last of several classes with the same score is predicted, and not the first
    pair: tuple[int, int] | None  # the classes that are compared on every row; None depends on the row


TWO = Form(
    fold=lambda columns: columns[:, 1] - columns[:, 0],
    unfold=lambda tau: np.column_stack([-tau, tau]) / 2.0,
    numbers=lambda tau: (tau >= 0).astype(np.intp),
    votes=lambda tau: np.clip(tau, -1.0, 1.0),
    shares=lambda votes: np.column_stack([1.0 - votes, 1.0 + votes]) / 2.0,
    vote="clip",
    own_link="identity",
    last_wins=True,
    pair=(1, 0),
)
MORE = Form(
    fold=np.ascontiguousarray,
    unfold=lambda scores: scores,
    numbers=lambda scores: scores.argmax(axis=1),
    votes=sparsemax,
    shares=lambda votes: votes,
    vote="sparsemax",
    own_link="softmax",
    last_wins=False,
    pair=None,
)


def form_of(n_classes: int) -> Form:
    return TWO if n_classes == 2 else MORE


def form_in(values: np.ndarray) -> Form:
    """The form in which these decision values or votes are written."""
    return TWO if values.ndim == 1 else MORE


def folded(columns: np.ndarray) -> np.ndarray:
    """Decision values from one column per class."""
    return form_of(columns.shape[1]).fold(columns)


def unfolded(decision: np.ndarray) -> np.ndarray:
    """One column per class from decision values, with the same differences between them."""
    return form_in(decision).unfold(decision)


def class_numbers(decision: np.ndarray) -> np.ndarray:
    """The number of the class that decision values stand for; every prediction of a class goes through here."""
    return form_in(decision).numbers(decision)


def lead(values: np.ndarray, label: np.ndarray | int, rival: np.ndarray | int) -> np.ndarray:
    """By how much decision values or votes favour one class of each row over another one."""
    columns, rows = form_in(values).unfold(values), np.arange(len(values))
    return columns[rows, label] - columns[rows, rival]


def cast_votes(decision: np.ndarray) -> np.ndarray:
    """The votes for decision values of shape (n_samples,) or, with more than two classes, (n_samples, n_classes)."""
    return form_in(decision).votes(decision)


def open_votes(votes: np.ndarray) -> np.ndarray:
    """Shares of votes with a small part of them left open, of shape (n_samples, n_classes), so that none is zero."""
    return (1.0 - OPEN_VOTES) * votes + OPEN_VOTES / votes.shape[1]
