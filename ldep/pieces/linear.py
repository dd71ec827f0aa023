"""Pieces with free slopes and offsets: those of the ℓ-DEP."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ldep.sparse_rows import left_product


@dataclass(frozen=True)
class LinearPieces:
    """Pieces with the score w_p . x + c_p; theta is the table [w_p, c_p], flattened by rows.

    With the two groups of a model for two classes the table is [W c; M d].

    Parameters
    ----------
    group_sizes : tuple of int
        Number of pieces in each maximum: (r1, r2) for two classes, r1 for each of more classes.
    n_features : int
        Number of features.
    monotone : ndarray of shape (n_features,), default=None
        For two groups: +1 for features in which the first maximum minus the second must not fall, -1 where it must not
        rise, 0 for the others.
    """

    group_sizes: tuple[int, ...]
    n_features: int
    monotone: np.ndarray | None = None

    @property
    def n_parameters(self) -> int:
        return sum(self.group_sizes) * (self.n_features + 1)

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The slopes of a monotone feature have one sign in the first group, and the other in the second."""
        if self.monotone is None:
            return None
        sign_of_group = np.repeat([1.0, -1.0], self.group_sizes)
        signs = np.outer(sign_of_group, np.append(self.monotone, 0.0)).ravel()
        return np.where(signs > 0, 0.0, -np.inf), np.where(signs < 0, 0.0, np.inf)

    def table(self, theta: np.ndarray) -> np.ndarray:
        """View of theta with one row [w_p, c_p] per piece."""
        return theta.reshape(-1, self.n_features + 1)

    def scores(self, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Score of every piece on every sample, in the precision of X."""
        table = self.table(theta).astype(X.dtype, copy=False)
        scores = table[:, :-1] @ X.T
        scores += table[:, -1:]
        return scores

    def pullback(self, G: np.ndarray | sparse.csc_array, X: np.ndarray) -> np.ndarray:
        """Gradient in theta of sum(G * scores), in double precision."""
        gradient = np.empty((G.shape[0], self.n_features + 1))
        gradient[:, :-1] = left_product(G, X)
        gradient[:, -1] = G.sum(axis=1, dtype=np.float64)
        return gradient.ravel()

    def coefficients(self, X: np.ndarray, piece: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
        """Rows A and constants b such that A theta + b is the score of piece[k] on X[k]."""
        m, width = len(X), self.n_features + 1
        columns = piece[:, None] * width + np.arange(width)
        values = np.hstack([X, np.ones((m, 1))])
        indptr = np.arange(0, m * width + 1, width)
        return sparse.csr_array((values.ravel(), columns.ravel(), indptr), shape=(m, self.n_parameters)), np.zeros(m)

    def penalty(self, theta: np.ndarray, ridge: np.ndarray) -> tuple[float, np.ndarray]:
        """Half the sum of ridge_j w_pj^2 over all pieces, and its gradient in theta."""
        table = self.table(theta)
        gradient = np.zeros_like(table)
        gradient[:, :-1] = ridge * table[:, :-1]
        return 0.5 * float(np.vdot(gradient, theta)), gradient.ravel()
