"""What the scores of the two groups of pieces look like as functions of the parameters.

Every model here has the decision function

    tau(x) = max_{i <= r1} u_i(x) - max_{j <= r2} v_j(x),

and in every one of them the scores u_i(x), v_j(x) are *affine in the parameters* theta. That is all a solver needs:
the smooth solvers ask for the scores and for the pullback of a gradient, the convex-concave ones for the coefficients
of theta in a score. Score matrices are (r1 + r2, m), the dilation's pieces first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class LinearPieces:
    """u_i(x) = w_i . x + c_i and v_j(x) = m_j . x + d_j: the ℓ-DEP. theta is [W c; M d], flattened by rows."""

    r1: int
    r2: int
    n: int

    @property
    def size(self) -> int:
        return (self.r1 + self.r2) * (self.n + 1)

    @property
    def bounds(self) -> None:
        return None

    def table(self, theta: np.ndarray) -> np.ndarray:
        """theta as the (r1 + r2, n + 1) matrix [W c; M d]."""
        return theta.reshape(self.r1 + self.r2, self.n + 1)

    def scores(self, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
        table = self.table(theta).astype(X.dtype, copy=False)
        scores = table[:, :-1] @ X.T
        scores += table[:, -1:]
        return scores

    def pullback(self, G: np.ndarray, X: np.ndarray) -> np.ndarray:
        """The gradient in theta of sum(G * scores)."""
        gradient = np.empty((self.r1 + self.r2, self.n + 1))
        gradient[:, :-1] = G @ X
        gradient[:, -1] = G.sum(axis=1, dtype=np.float64)
        return gradient.ravel()

    def coefficients(self, X: np.ndarray, piece: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
        """Rows A and constants b such that A theta + b is the score of piece[k] on X[k]."""
        m, width = len(X), self.n + 1
        columns = piece[:, None] * width + np.arange(width)
        values = np.hstack([X, np.ones((m, 1))])
        indptr = np.arange(0, m * width + 1, width)
        return sparse.csr_array((values.ravel(), columns.ravel(), indptr), shape=(m, self.size)), np.zeros(m)


@dataclass(frozen=True)
class MorphologicalPieces:
    """u_j(x) = beta x_j + c_j and v_j(x) = (beta - 1) x_j + d_j: the dilation-erosion perceptron.

    With a = c / beta and b = d / (beta - 1), tau is beta max_j(x_j + a_j) + (1 - beta) min_j(x_j + b_j).
    theta is (beta, c, d) when beta is None (learned, in [0, 1]). beta = 1 is the dilation perceptron: theta is c,
    and the erosion is the one constant piece 0. beta = 0 is the erosion perceptron: theta is d, and the dilation is 0.
    """

    n: int
    beta: float | None = None

    @property
    def r1(self) -> int:
        return 1 if self.beta == 0 else self.n

    @property
    def r2(self) -> int:
        return 1 if self.beta == 1 else self.n

    @property
    def size(self) -> int:
        return 2 * self.n + 1 if self.beta is None else self.n

    @property
    def bounds(self) -> list[tuple[float | None, float | None]] | None:
        return [(0.0, 1.0)] + [(None, None)] * (2 * self.n) if self.beta is None else None

    def scores(self, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
        theta = theta.astype(X.dtype, copy=False)
        if self.beta is None:
            beta, offsets = theta[0], theta[1:]
            return np.concatenate([beta * X.T, (beta - 1) * X.T]) + offsets[:, None]
        zero = np.zeros((1, len(X)), dtype=X.dtype)
        if self.beta == 1:
            return np.concatenate([X.T + theta[:, None], zero])
        return np.concatenate([zero, theta[:, None] - X.T])

    def pullback(self, G: np.ndarray, X: np.ndarray) -> np.ndarray:
        if self.beta == 1:
            return G[: self.n].sum(axis=1, dtype=np.float64)
        if self.beta == 0:
            return G[1:].sum(axis=1, dtype=np.float64)
        slope = np.einsum("jk,kj->", G[: self.n], X) + np.einsum("jk,kj->", G[self.n :], X)
        return np.concatenate([[slope], G.sum(axis=1, dtype=np.float64)])

    def coefficients(self, X: np.ndarray, piece: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
        """Rows A and constants b such that A theta + b is the score of piece[k] on X[k]."""
        m, rows = len(X), np.arange(len(X))
        shape = (m, self.size)
        if self.beta is None:
            dilation = piece < self.n
            x = X[rows, np.where(dilation, piece, piece - self.n)]
            A = sparse.csr_array(
                (
                    np.concatenate([x, np.ones(m)]),
                    (np.tile(rows, 2), np.concatenate([np.zeros(m, int), 1 + piece])),
                ),
                shape=shape,
            )
            return A, np.where(dilation, 0.0, -x)
        constant = piece == self.n if self.beta == 1 else piece == 0
        column = np.where(constant, 0, piece if self.beta == 1 else piece - 1)
        x = X[rows, column] * (1 if self.beta == 1 else -1)
        A = sparse.csr_array((np.where(constant, 0.0, 1.0), (rows, column)), shape=shape)
        return A, np.where(constant, 0.0, x)


Pieces = LinearPieces | MorphologicalPieces
