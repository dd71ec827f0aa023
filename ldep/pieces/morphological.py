"""Pieces that share one slope: those of the dilation-erosion perceptron."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

# A beta nearer to 0 or 1 than this is 0 or 1: dividing by it would overflow, and tau changes by a rounding error.
BETA_TOL = 1e-14


@dataclass(frozen=True)
class MorphologicalPieces:
    """Pieces u_j(x) = beta x_j + c_j and v_j(x) = (beta - 1) x_j + d_j, one of each per feature.

    With a = c / beta and b = d / (beta - 1), tau is beta max_j(x_j + a_j) + (1 - beta) min_j(x_j + b_j).

    Parameters
    ----------
    n_features : int
        Number of features.
    beta : {None, 0.0, 1.0}, default=None
        None learns beta in [0, 1], and theta is (beta, c, d). 1 is the dilation perceptron: theta is c, and the erosion
        is the one constant piece 0. 0 is the erosion perceptron: theta is d, and the dilation is the constant piece 0.
    """

    n_features: int
    beta: float | None = None

    @property
    def group_sizes(self) -> tuple[int, int]:
        return 1 if self.beta == 0 else self.n_features, 1 if self.beta == 1 else self.n_features

    @property
    def n_parameters(self) -> int:
        return 2 * self.n_features + 1 if self.beta is None else self.n_features

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """beta lies in [0, 1]; the offsets are free."""
        if self.beta is not None:
            return None
        free = np.full(2 * self.n_features, np.inf)
        return np.concatenate([[0.0], -free]), np.concatenate([[1.0], free])

    def theta(self, beta: float, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """theta from the paper's letters. What is fixed here, or does not enter tau, is left out."""
        if self.beta is None:
            return np.concatenate([[beta], beta * a, (beta - 1.0) * b])
        return np.array(a if self.beta == 1 else -b)

    def paper_form(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """beta, a, b with the same tau. Where beta is 0 or 1, the operator that does not enter tau gets zeros."""
        idle = np.zeros(self.n_features)
        if self.beta == 1:
            return 1.0, theta, idle
        if self.beta == 0:
            return 0.0, idle, -theta
        beta, c, d = float(theta[0]), theta[1 : self.n_features + 1], theta[self.n_features + 1 :]
        # The scores of one group are then constants, and their maximum moves to the offsets of the other group.
        if beta < BETA_TOL:
            return 0.0, idle, c.max() - d
        if beta > 1.0 - BETA_TOL:
            return 1.0, c - d.max(), idle
        return beta, c / beta, d / (beta - 1.0)

    def scores(self, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Score of every piece on every sample, in the precision of X."""
        theta = theta.astype(X.dtype, copy=False)[:, None]
        n = self.n_features
        scores = np.zeros((sum(self.group_sizes), len(X)), dtype=X.dtype)
        if self.beta == 1:
            np.add(X.T, theta, out=scores[:-1])
        elif self.beta == 0:
            np.subtract(theta, X.T, out=scores[1:])
        else:
            np.multiply(X.T, theta[0], out=scores[:n])
            np.subtract(scores[:n], X.T, out=scores[n:])
            scores += theta[1:]
        return scores

    def pullback(self, G: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Gradient in theta of sum(G * scores), in double precision."""
        n = self.n_features
        if self.beta == 1:
            return G[:n].sum(axis=1, dtype=np.float64)
        if self.beta == 0:
            return G[1:].sum(axis=1, dtype=np.float64)
        slope = np.sum((G[:n] + G[n:]) * X.T, dtype=np.float64)
        return np.concatenate([[slope], G.sum(axis=1, dtype=np.float64)])

    def coefficients(self, X: np.ndarray, piece: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
        """Rows A and constants b such that A theta + b is the score of piece[k] on X[k]."""
        if self.beta is None:
            return self._coefficients_with_beta(X, piece)
        rows = np.arange(len(X))
        constant = piece == self.n_features if self.beta == 1 else piece == 0
        column = np.where(constant, 0, piece if self.beta == 1 else piece - 1)
        x = X[rows, column] * (1 if self.beta == 1 else -1)
        A = sparse.csr_array((np.where(constant, 0.0, 1.0), (rows, column)), shape=(len(X), self.n_parameters))
        return A, np.where(constant, 0.0, x)

    def _coefficients_with_beta(self, X: np.ndarray, piece: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
        m, rows = len(X), np.arange(len(X))
        in_dilation = piece < self.n_features
        x = X[rows, np.where(in_dilation, piece, piece - self.n_features)]
        values = np.concatenate([x, np.ones(m)])
        columns = np.concatenate([np.zeros(m, int), 1 + piece])
        A = sparse.csr_array((values, (np.tile(rows, 2), columns)), shape=(m, self.n_parameters))
        return A, np.where(in_dilation, 0.0, -x)

    def penalty(self, theta: np.ndarray, ridge: np.ndarray) -> tuple[float, np.ndarray]:
        """Zero: there are no slopes to shrink, and `ridge` is not used."""
        return 0.0, np.zeros_like(theta)
