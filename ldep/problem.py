"""The training problem, stated once for all solvers.

    minimise over theta   F(theta) = sum_k s_k max(0, 1 - y_k tau(x_k)) + 1/2 sum_p sum_j ridge_j w_pj^2

with y_k = +1 or -1, the sample weights s_k, and the slopes w_p of piece p, of both groups. In the user's coordinates
every ridge_j is alpha. alpha = 0 and s_k = 1 is the problem of the paper [1]_: at an optimum its slack xi_k is
1 - y_k tau(x_k), and it minimises sum_k max(xi_k, 0).

References
----------
.. [1] A. L. Oliveira and M. E. Valle, "Linear dilation-erosion perceptron trained using a convex-concave procedure",
   arXiv:2011.06512, 2020.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeGuard, TypeVar

import numpy as np

from ldep.pieces.base import AffinePieces, Pieces, groups

P = TypeVar("P", bound=Pieces, covariant=True)


class FiniteSumProblem(ABC, Generic[P]):
    """A problem whose loss is a sum over samples, wherever these are stored.

    Attributes
    ----------
    pieces : Pieces
        The scores as functions of theta.
    ridge : ndarray of shape (n_features,)
        Weight of the squared slopes of each feature.
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
    X : ndarray of shape (n_samples, n_features)
        The samples.
    y : ndarray of shape (n_samples,)
        Their classes, as -1 and +1.
    weight : ndarray of shape (n_samples,)
        Their weights s_k.
    pieces : Pieces
        The scores as functions of theta.
    ridge : ndarray of shape (n_features,)
        Weight of the squared slopes of each feature. Zero where the pieces have no slopes of their own.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    pieces: P
    ridge: np.ndarray

    def tau(self, theta: np.ndarray) -> np.ndarray:
        """Decision value of every sample."""
        return decision_values(self.pieces, self.pieces.scores(theta, self.X))

    def hinge(self, theta: np.ndarray) -> float:
        """The weighted hinge loss."""
        return float(self.weight @ np.maximum(0.0, 1.0 - self.y * self.tau(theta)))

    def objective(self, theta: np.ndarray) -> float:
        """F(theta)."""
        return self.hinge(theta) + self.penalty(theta)[0]

    def chunks(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Iterate over X, y and weight, at most `size` samples at a time."""
        for first in range(0, len(self.X), size):
            rows = slice(first, first + size)
            yield self.X[rows], self.y[rows], self.weight[rows]


def decision_values(pieces: Pieces, scores: np.ndarray) -> np.ndarray:
    """tau from a score matrix: the dilation's maximum minus the erosion's."""
    dilation, erosion = groups(pieces)
    return scores[dilation].max(axis=0) - scores[erosion].max(axis=0)


def has_affine_pieces(problem: Problem[Pieces]) -> TypeGuard[Problem[AffinePieces]]:
    """Whether every piece has slopes and an offset of its own."""
    return hasattr(problem.pieces, "table")
