"""What a solver may ask of the pieces of a model.

A model compares the maxima of groups of scores, one score per piece and one group per class. With two classes it
compares them by their difference:

    tau(x) = max_{i <= r1} u_i(x) - max_{j <= r2} v_j(x),

the dilation's pieces (of the second class) first, then the erosion's (of the first class). With more than two classes
the groups are in the order of the classes, and all have the same number of pieces.

In every model the scores are *affine in the parameters* theta, and that is all a solver needs: a smooth solver asks for
the scores and for the pullback of a gradient, a convex-concave one for the coefficients of theta in a score. A score
matrix has one row per piece, group after group, and one column per sample.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Protocol

import numpy as np
from scipy import sparse


class Pieces(Protocol):
    """The scores of all pieces, as functions of the parameters theta. Every solver accepts these."""

    @property
    def group_sizes(self) -> tuple[int, ...]:
        """Number of pieces in each maximum."""
        ...

    @property
    def n_parameters(self) -> int:
        """Length of theta."""
        ...

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Lower and upper bound of each entry of theta, or None when no entry is bounded."""
        ...

    def scores(self, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Score of every piece on every sample, in the precision of X."""
        ...

    def pullback(self, G: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Gradient in theta of sum(G * scores), in double precision."""
        ...

    def coefficients(self, X: np.ndarray, piece: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
        """Rows A and constants b such that A theta + b is the score of piece[k] on X[k]."""
        ...

    def penalty(self, theta: np.ndarray, ridge: np.ndarray) -> tuple[float, np.ndarray]:
        """Half the sum of ridge_j w_pj^2 over the slopes w_p of all pieces, and its gradient in theta."""
        ...


class AffinePieces(Pieces, Protocol):
    """Pieces whose slopes and offsets are all free: theta is one row [w_p, c_p] per piece.

    The interior-point method, the kicks of the convex-concave procedure and the program of the paper need these.
    """

    @property
    def n_features(self) -> int:
        """Number of features."""
        ...

    def table(self, theta: np.ndarray) -> np.ndarray:
        """View of theta with one row [w_p, c_p] per piece."""
        ...


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
