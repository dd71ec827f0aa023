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

# A beta nearer to 0 or 1 than this is 0 or 1: dividing by it would overflow, and tau changes by a rounding error.
BETA_TOL = 1e-14


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

    def theta(self, beta: float, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """theta from the paper's letters; what is fixed here, or has no part in tau, is left out."""
        if self.beta is None:
            return np.concatenate([[beta], beta * a, (beta - 1.0) * b])
        return np.array(a if self.beta == 1 else -b)

    def paper_form(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """beta, a, b with the same tau. Where beta is 0 or 1, the operator that has no part in tau gets zeros."""
        idle = np.zeros(self.n)
        if self.beta == 1:
            return 1.0, theta, idle
        if self.beta == 0:
            return 0.0, idle, -theta
        beta, c, d = float(theta[0]), theta[1 : self.n + 1], theta[self.n + 1 :]
        # The scores of the one group are then constants, and the largest moves to the offsets of the other.
        if beta < BETA_TOL:
            return 0.0, idle, c.max() - d
        if beta > 1.0 - BETA_TOL:
            return 1.0, c - d.max(), idle
        return beta, c / beta, d / (beta - 1.0)

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The least and the largest value of each entry of theta, if any is bounded."""
        if self.beta is not None:
            return None
        free = np.full(2 * self.n, np.inf)
        return np.concatenate([[0.0], -free]), np.concatenate([[1.0], free])

    def scores(self, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
        theta = theta.astype(X.dtype, copy=False)[:, None]
        scores = np.zeros((self.r1 + self.r2, len(X)), dtype=X.dtype)
        if self.beta == 1:
            np.add(X.T, theta, out=scores[:-1])
        elif self.beta == 0:
            np.subtract(theta, X.T, out=scores[1:])
        else:
            np.multiply(X.T, theta[0], out=scores[: self.n])
            np.subtract(scores[: self.n], X.T, out=scores[self.n :])
            scores += theta[1:]
        return scores

    def pullback(self, G: np.ndarray, X: np.ndarray) -> np.ndarray:
        if self.beta == 1:
            return G[: self.n].sum(axis=1, dtype=np.float64)
        if self.beta == 0:
            return G[1:].sum(axis=1, dtype=np.float64)
        slope = np.sum((G[: self.n] + G[self.n :]) * X.T, dtype=np.float64)
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
