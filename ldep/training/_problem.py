"""The training problem, stated once for all solvers.

    minimise over theta   F(theta) = sum_k s_k max(0, 1 - margin(x_k)) + 1/2 sum_p sum_j ridge_j w_pj^2

with the sample weights s_k and the slopes w_p of piece p, of all groups. In the user's coordinates every ridge_j is
alpha. Each group of pieces is the maximum of one class. The margin of a sample is the maximum of its own class minus
the largest maximum of another one; it is negative where the sample is misclassified. This is the multiclass hinge of
Crammer and Singer; `LDEPClassifier` has the references.

With two classes the first group (the dilation) belongs to y_k = +1, the second (the erosion) to y_k = -1, and the
margin is y_k tau(x_k). alpha = 0 and s_k = 1 is then the problem of the paper: at an optimum its slack xi_k is
1 - y_k tau(x_k), and it minimises sum_k max(xi_k, 0).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeGuard, TypeVar

import numpy as np

from ldep._utils import CentredRows
from ldep.training._pieces import AffinePieces, Pieces, groups

P = TypeVar("P", bound=Pieces, covariant=True)


class FiniteSumProblem(ABC, Generic[P]):
    """A problem whose loss is a sum over samples, wherever these are stored.

    `ridge` is the weight of the squared slopes of each feature.
    """

    pieces: P
    ridge: np.ndarray

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
        Their classes: +1 (first group) and -1 (second group) when there are two groups, else the index of the group.
    weight : ndarray of shape (n_samples,)
        Their weights s_k.
    pieces : Pieces
        The scores as functions of theta.
    ridge : ndarray of shape (n_features,)
        Weight of the squared slopes of each feature. Zero where the pieces have no slopes of their own.
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray
    pieces: P
    ridge: np.ndarray

    def margins(self, theta: np.ndarray) -> np.ndarray:
        """Margin of every sample."""
        return margins(self.pieces, self.pieces.scores(theta, self.X), self.y)

    def hinge(self, theta: np.ndarray) -> float:
        """The weighted hinge loss."""
        return float(self.weight @ np.maximum(0.0, 1.0 - self.margins(theta)))

    def objective(self, theta: np.ndarray) -> float:
        """F(theta)."""
        return self.hinge(theta) + self.penalty(theta)[0]

    def chunks(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Iterate over X, y and weight, at most `size` samples at a time."""
        if isinstance(self.X, CentredRows):
            # A product with sparse rows copies the slopes of all features once: take enough rows to be worth it.
            size = max(size, self.X.shape[1])
        for first in range(0, len(self.X), size):
            rows = slice(first, first + size)
            yield self.X[rows], self.y[rows], self.weight[rows]


def margins(pieces: Pieces, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Margins from a score matrix: the maximum of the sample's class minus the largest of another class."""
    maxima = np.array([scores[group].max(axis=0) for group in groups(pieces)])
    if len(maxima) == 2:
        return y * (maxima[0] - maxima[1])
    own = own_group(pieces, y), np.arange(len(y))
    own_maximum = maxima[own]
    maxima[own] = -np.inf
    return own_maximum - maxima.max(axis=0)


Groups = TypeVar("Groups", list, tuple, np.ndarray)


def by_class(groups: Groups) -> Groups:
    """One entry per class from one entry per group, or the reverse: of two classes, the second is the first group."""
    return groups[::-1] if len(groups) == 2 else groups


def group_sizes_of(r1: int, r2: int, n_classes: int) -> tuple[int, ...] | None:
    """Number of pieces in each maximum; None if more than two classes would not all have the same number."""
    if n_classes == 2:
        return r1, r2
    return (r1,) * n_classes if r1 == r2 else None


def own_group(pieces: Pieces, y: np.ndarray) -> np.ndarray:
    """Index of the group that belongs to the class of each sample."""
    return (y < 0).astype(np.intp) if len(pieces.group_sizes) == 2 else y.astype(np.intp)


def has_affine_pieces(problem: Problem[Pieces]) -> TypeGuard[Problem[AffinePieces]]:
    """Whether every piece has slopes and an offset of its own."""
    return hasattr(problem.pieces, "table")
