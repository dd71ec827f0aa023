"""The training problem, stated once for all solvers.

    minimise over theta   F(theta) = sum_k s_k loss(x_k) + 1/2 sum_p sum_j ridge_j w_pj^2

with the sample weights s_k and the slopes w_p of piece p, of all groups. In the user's coordinates every ridge_j is
alpha. Each group of pieces is one maximum, and the score of a class is a difference of two of them.

With two classes there are two groups: the first (the dilation) is added, the second (the erosion) is subtracted, and
their difference is tau, which should be positive for y_k = +1 and negative for y_k = -1. With K > 2 classes there are
2 K groups: the first K are added to the scores of the classes, the others are subtracted from them.

The margin of a sample is the score of its own class minus the largest score of another one; with two classes it is
y_k tau(x_k). The "hinge" loss is max(0, 1 - margin), that of Crammer and Singer with more than two classes. The
"logistic" loss is log(1 + exp(-margin)) with two classes, and -log softmax(scores) of the sample's class with more.
`LDEPClassifier` has the references.

The hinge with two classes, alpha = 0 and s_k = 1 is the problem of the paper: at an optimum its slack xi_k is
1 - y_k tau(x_k), and it minimises sum_k max(xi_k, 0).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeGuard, TypeVar, get_args

import numpy as np
from scipy.special import logsumexp

from ldep._utils import CentredRows
from ldep.training._pieces import AffinePieces, Pieces, groups

P = TypeVar("P", bound=Pieces, covariant=True)
Loss = Literal["hinge", "logistic"]
LOSSES: tuple[Loss, ...] = get_args(Loss)


class FiniteSumProblem(ABC, Generic[P]):
    """A problem whose loss is a sum over samples, wherever these are stored.

    `ridge` is the weight of the squared slopes of each feature.
    """

    pieces: P
    ridge: np.ndarray
    loss: Loss

    @abstractmethod
    def chunks(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Iterate over X, y and weight, at most `size` samples at a time."""

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The quadratic term and its gradient."""
        return self.pieces.penalty(theta, self.ridge)


@dataclass(frozen=True)
class Problem(FiniteSumProblem[P]):
    """A training problem in memory.

    Parameters
    ----------
    X : ndarray or CentredRows of shape (n_samples, n_features)
        The samples. Only `anneal` accepts sparse ones.
    y : ndarray of shape (n_samples,)
        Their classes: +1 and -1 when there are two, else the index of the class.
    weight : ndarray of shape (n_samples,)
        Their weights s_k.
    pieces : Pieces
        The scores as functions of theta.
    ridge : ndarray of shape (n_features,)
        Weight of the squared slopes of each feature. Zero where the pieces have no slopes of their own.
    loss : {"hinge", "logistic"}, default="hinge"
        The loss of a sample.
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray
    pieces: P
    ridge: np.ndarray
    loss: Loss = "hinge"

    def margins(self, theta: np.ndarray) -> np.ndarray:
        """Margin of every sample."""
        return margins(self.pieces, self.pieces.scores(theta, self.X), self.y)

    def total_loss(self, theta: np.ndarray) -> float:
        """The weighted sum of the losses."""
        return float(self.weight @ losses(self.pieces, self.pieces.scores(theta, self.X), self.y, self.loss))

    def objective(self, theta: np.ndarray) -> float:
        """F(theta)."""
        return self.total_loss(theta) + self.penalty(theta)[0]

    def chunks(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Iterate over X, y and weight, at most `size` samples at a time."""
        if isinstance(self.X, CentredRows):
            # A product with sparse rows copies the slopes of all features once: take enough rows to be worth it.
            size = max(size, self.X.shape[1])
        for first in range(0, len(self.X), size):
            rows = slice(first, first + size)
            yield self.X[rows], self.y[rows], self.weight[rows]


def n_classes_of(pieces: Pieces) -> int:
    """The number of classes that the groups of pieces tell apart."""
    return max(2, len(pieces.group_sizes) // 2)


def class_scores(pieces: Pieces, scores: np.ndarray) -> np.ndarray:
    """With two classes tau, of shape (n_samples,); else the score of each class, of shape (n_classes, n_samples)."""
    maxima = np.array([scores[group].max(axis=0) for group in groups(pieces)])
    if len(maxima) == 2:
        return maxima[0] - maxima[1]
    added, subtracted = np.split(maxima, 2)
    return added - subtracted


def margins(pieces: Pieces, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Margins from a score matrix: the score of the sample's class minus the largest of another class."""
    by_class = class_scores(pieces, scores)
    if by_class.ndim == 1:
        return y * by_class
    own = y.astype(np.intp), np.arange(len(y))
    own_score = by_class[own]
    by_class[own] = -np.inf
    return own_score - by_class.max(axis=0)


def losses(pieces: Pieces, scores: np.ndarray, y: np.ndarray, loss: Loss) -> np.ndarray:
    """The loss of each sample, from a score matrix."""
    if loss == "hinge":
        return np.maximum(0.0, 1.0 - margins(pieces, scores, y))
    if len(pieces.group_sizes) == 2:
        return np.logaddexp(0.0, -margins(pieces, scores, y))
    by_class = class_scores(pieces, scores)
    return logsumexp(by_class, axis=0) - by_class[y.astype(np.intp), np.arange(len(y))]


Groups = TypeVar("Groups", list, tuple, np.ndarray)


def by_class(groups: Groups) -> Groups:
    """The maxima of a fitted model from the groups of pieces, or the reverse: of two, the second is the first group."""
    return groups[::-1] if len(groups) == 2 else groups


def signs_of(n_groups: int) -> np.ndarray:
    """What each maximum of a fitted model counts in the score of each class."""
    if n_groups == 2:
        return np.eye(2)
    return np.hstack([np.eye(n_groups // 2), -np.eye(n_groups // 2)])


def group_sizes_of(r1: int, r2: int, n_classes: int) -> tuple[int, ...]:
    """Number of pieces in each maximum: of those that are added, then of those that are subtracted."""
    return (r1, r2) if n_classes == 2 else (r1,) * n_classes + (r2,) * n_classes


def in_group(pieces: Pieces, y: np.ndarray, group: int) -> np.ndarray:
    """Whether each sample wants the maximum of this group to be large.

    What is added to the score of a class should be large on the samples of the class, what is subtracted on all others.
    """
    n_classes = n_classes_of(pieces)
    if n_classes == 2:
        return y > 0 if group == 0 else y < 0
    return y == group if group < n_classes else y != group - n_classes


def own_group(y: np.ndarray) -> np.ndarray:
    """With two classes: index of the group that should be large on each sample."""
    return (y < 0).astype(np.intp)


def has_affine_pieces(problem: Problem[Pieces]) -> TypeGuard[Problem[AffinePieces]]:
    """Whether every piece has slopes and an offset of its own."""
    return hasattr(problem.pieces, "table")
