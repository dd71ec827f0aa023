"""The training problem, stated once for all solvers.

    minimise over theta   F(theta) = sum_k s_k max(0, 1 - y_k tau(x_k)) + 1/2 sum_p sum_j ridge_j w_pj^2

with y_k = +1 or -1, the sample weights s_k, and w_p the slopes of piece p, of both groups. In the user's coordinates
every ridge_j is alpha; alpha = 0 and s_k = 1 is the paper's problem: its slack xi_k is at its optimum
1 - y_k tau(x_k), and it minimises sum_k max(xi_k, 0).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ldep.pieces import LinearPieces, Pieces


class Summed(ABC):
    """A problem whose loss is a sum over its samples, wherever they are."""

    pieces: Pieces
    ridge: np.ndarray

    @abstractmethod
    def chunks(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """X, y and weight of at most `size` samples at a time."""

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The quadratic term and its gradient."""
        if not isinstance(self.pieces, LinearPieces):
            return 0.0, np.zeros_like(theta)
        gradient = np.zeros_like(self.pieces.table(theta))
        gradient[:, :-1] = self.ridge * self.pieces.table(theta)[:, :-1]
        return 0.5 * float(np.vdot(gradient, theta)), gradient.ravel()


@dataclass(frozen=True)
class Problem(Summed):
    """X is (m, n); y, weight are (m,); ridge is (n,) and zero where the pieces have no slopes of their own."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    pieces: Pieces
    ridge: np.ndarray

    def tau(self, theta: np.ndarray) -> np.ndarray:
        scores = self.pieces.scores(theta, self.X)
        return scores[: self.pieces.r1].max(axis=0) - scores[self.pieces.r1 :].max(axis=0)

    def hinge(self, theta: np.ndarray) -> float:
        return float(self.weight @ np.maximum(0.0, 1.0 - self.y * self.tau(theta)))

    def chunks(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        for first in range(0, len(self.X), size):
            rows = slice(first, first + size)
            yield self.X[rows], self.y[rows], self.weight[rows]

    def objective(self, theta: np.ndarray) -> float:
        return self.hinge(theta) + self.penalty(theta)[0]
