"""The training problem, stated once for all solvers.

    minimise over theta   F(theta) = sum_k s_k max(0, 1 - y_k tau(x_k)) + 1/2 sum_p sum_j ridge_j w_pj^2

with y_k = +1 or -1, the sample weights s_k, and w_p the slopes of piece p, of both groups. In the user's coordinates
every ridge_j is alpha; alpha = 0 and s_k = 1 is the paper's problem: its slack xi_k is at its optimum
1 - y_k tau(x_k), and it minimises sum_k max(xi_k, 0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldep.pieces import LinearPieces, Pieces


@dataclass(frozen=True)
class Problem:
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

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The quadratic term and its gradient."""
        if not isinstance(self.pieces, LinearPieces):
            return 0.0, np.zeros_like(theta)
        gradient = np.zeros_like(self.pieces.table(theta))
        gradient[:, :-1] = self.ridge * self.pieces.table(theta)[:, :-1]
        return 0.5 * float(np.vdot(gradient, theta)), gradient.ravel()

    def objective(self, theta: np.ndarray) -> float:
        return self.hinge(theta) + self.penalty(theta)[0]
