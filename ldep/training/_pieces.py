"""What a solver may ask of the pieces of a model.

A model takes the maxima of groups of scores, one score per piece, and the score of a class is a difference of two of
them. With two classes one difference is enough:

    tau(x) = max_{i <= r1} u_i(x) - max_{j <= r2} v_j(x),

the dilation's pieces (of the second class) first, then the erosion's (of the first class). With more than two classes
each has a dilation and an erosion of its own: the dilations come first, then the erosions, each in the order of the
classes.

In every model the scores are *affine in the parameters* theta, and that is all a solver needs: a smooth solver asks for
the scores and for the pullback of a gradient, a convex-concave one for the coefficients of theta in a score. A score
matrix has one row per piece, group after group, and one column per sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Protocol

import numpy as np
from scipy import sparse


class Pieces(Protocol):
    """The scores of all pieces, as functions of the parameters theta. Every solver accepts these."""

    @property
    def group_sizes(self) -> tuple[int, ...]:
        """Number of pieces in each maximum."""

    @property
    def n_parameters(self) -> int:
        """Length of theta."""

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Lower and upper bound of each entry of theta, or None when no entry is bounded."""

    def scores(self, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Score of every piece on every sample, in the precision of X."""

    def pullback(self, G: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Gradient in theta of sum(G * scores), in double precision."""

    def coefficients(self, X: np.ndarray, piece: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
        """Rows A and constants b such that A theta + b is the score of piece[k] on X[k]."""

    def penalty(self, theta: np.ndarray, ridge: np.ndarray) -> tuple[float, np.ndarray]:
        """Half the sum of ridge_j w_pj^2 over the slopes w_p of all pieces, and its gradient in theta."""


class AffinePieces(Pieces, Protocol):
    """Pieces whose slopes and offsets are all free: theta is one row [w_p, c_p] per piece.

    The interior-point method, the kicks of the convex-concave procedure and the program of the paper need these.
    """

    @property
    def n_features(self) -> int:
        """Number of features."""

    def table(self, theta: np.ndarray) -> np.ndarray:
        """View of theta with one row [w_p, c_p] per piece."""


def groups(pieces: Pieces) -> tuple[slice, ...]:
    """Rows of a score matrix that belong to each maximum."""
    ends = accumulate(pieces.group_sizes, initial=0)
    return tuple(slice(first, last) for first, last in pairwise(ends))


def is_affine_in_theta(pieces: Pieces) -> bool:
    """Whether every maximum has one piece: it is then affine in theta, and the training problem is convex."""
    return set(pieces.group_sizes) == {1}


def within_bounds(pieces: Pieces, theta: np.ndarray) -> np.ndarray:
    """The point nearest to theta that keeps the bounds."""
    return theta if pieces.bounds is None else np.clip(theta, *pieces.bounds)


@dataclass(frozen=True)
class LinearPieces:
    """Pieces with the score w_p . x + c_p; theta is the table [w_p, c_p], flattened by rows.

    With the two groups of a model for two classes the table is [W c; M d].

    Parameters
    ----------
    group_sizes : tuple of int
        Number of pieces in each maximum: (r1, r2) for two classes; for more, r1 for each of the maxima that are added
        and r2 for each of those that are subtracted.
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

    def pullback(self, G: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Gradient in theta of sum(G * scores), in double precision."""
        gradient = np.empty((G.shape[0], self.n_features + 1))
        gradient[:, :-1] = G @ X
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


# A beta nearer to 0 or 1 than this is 0 or 1: dividing by it would overflow, and tau changes by a rounding error.
BETA_TOL = 1e-14


@dataclass(frozen=True)
class MorphologicalPieces:
    """Pieces u_j(x) = beta x_j + c_j and v_j(x) = (beta - 1) x_j + d_j, one of each per feature.

    With a = c / beta and b = d / (beta - 1), tau is beta max_j(x_j + a_j) + (1 - beta) min_j(x_j + b_j). If `beta` is
    None it is learned in [0, 1], and theta is (beta, c, d). 1 is the dilation perceptron: theta is c, and the erosion
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
        n = self.n_features
        if self.beta == 1:
            return G[:n].sum(axis=1, dtype=np.float64)
        if self.beta == 0:
            return G[1:].sum(axis=1, dtype=np.float64)
        slope = np.sum((G[:n] + G[n:]) * X.T, dtype=np.float64)
        return np.concatenate([[slope], G.sum(axis=1, dtype=np.float64)])

    def coefficients(self, X: np.ndarray, piece: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
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
