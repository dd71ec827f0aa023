"""Coordinates in which the ℓ-DEP is easy to train.

The model does not depend on the affine coordinates of the features, so a solver may choose its own. With C the
covariance of the features, P the matrix of the penalty alpha/2 sum_p w_p^T P w_p and kappa = alpha r / m, where r is
the number of pieces of all groups, the curvature of F along the slopes of a piece is close to a multiple of
C + kappa P: the loss contributes C, as each piece is active on about m / r samples, and the penalty contributes
alpha P. `condition` finds B with

    B^T (C + kappa P) B = I   and   alpha B^T P B = diag(ridge),

writes z = B^T (x - mean), and states the same problem in z: same scores, same F, round level sets. Directions in which
the data do not vary (constant columns, the difference of duplicate ones) are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ldep.pieces import LinearPieces
from ldep.problem import Problem
from ldep.samples import Samples

# Beyond this many features the eigendecompositions cost more than they save, and columns are only scaled.
ROTATE_UP_TO = 600
# A feature whose mean is beyond this many standard deviations is centred in the fitted model: digits would be lost.
LARGE_OFFSET = 1000.0
# Eigenvalues of a matrix with a unit diagonal below this are rounding errors.
RANK_TOL = 1e-13


@dataclass(frozen=True)
class Coordinates:
    """The map z = B^T (x - mean) from the user's coordinates to the solver's.

    Parameters
    ----------
    mean : ndarray of shape (n_features,)
        Mean of the features.
    basis : ndarray of shape (n_features, n_directions)
        The matrix B.
    center : ndarray of shape (n_features,)
        Origin of the fitted model: the mean of features that have a large offset, and 0 for the others.
    scale : ndarray of shape (n_features,), default=None
        Set where B only scales columns, and leaves out those of scale 0: products with B would be a waste.
    """

    mean: np.ndarray
    basis: np.ndarray
    center: np.ndarray
    scale: np.ndarray | None = None

    def transform(self, centred: np.ndarray) -> np.ndarray:
        """z of rows from which the mean has been subtracted."""
        if self.scale is None:
            return centred @ self.basis
        used = self.scale > 0
        return centred[:, used] * self.scale[used]

    def to_user(self, theta: np.ndarray, origin: np.ndarray | float = 0.0) -> np.ndarray:
        """One row [slopes, value at `origin`] per piece in the user's coordinates, from theta in the solver's."""
        table = theta.reshape(-1, self.basis.shape[1] + 1)
        slopes = table[:, :-1] @ self.basis.T
        return np.column_stack([slopes, table[:, -1] - slopes @ (self.mean - origin)])

    def to_solver(self, table: np.ndarray, origin: np.ndarray | float = 0.0) -> np.ndarray:
        """theta in the solver's coordinates, from one row [slopes, value at `origin`] per piece in the user's.

        What the slopes do in directions that the solver's coordinates leave out is lost.
        """
        slopes = np.linalg.lstsq(self.basis, table[:, :-1].T, rcond=None)[0].T
        return np.column_stack([slopes, table[:, -1] + table[:, :-1] @ (self.mean - origin)]).ravel()


def condition(
    samples: Samples, group_sizes: tuple[int, ...], alpha: float, penalty: str = "norm"
) -> tuple[Problem[LinearPieces], Coordinates]:
    """State the training problem in coordinates that suit a solver.

    Parameters
    ----------
    samples : Samples
        The samples in the user's coordinates.
    group_sizes : tuple of int
        Number of pieces in each maximum.
    alpha : float
        Weight of the penalty.
    penalty : {"norm", "variance"}, default="norm"
        The matrix of the penalty: P = I or P = C.

    Returns
    -------
    problem : Problem
        The training problem in the solver's coordinates.
    coordinates : Coordinates
        The way back.
    """
    X, y, weight = samples
    total = weight.sum()
    mean = weight @ X / total
    centred = X - mean

    def covariance(scale: np.ndarray) -> np.ndarray:
        scaled = centred * scale
        return (scaled.T * weight) @ scaled / total

    variance = weight @ np.square(centred) / total
    coordinates, ridge = choose_coordinates(
        mean, variance, covariance, total_weight=total, n_pieces=sum(group_sizes), alpha=alpha, penalty=penalty
    )
    pieces = LinearPieces(group_sizes, coordinates.basis.shape[1])
    return Problem(coordinates.transform(centred), y, weight, pieces, ridge), coordinates


def choose_coordinates(
    mean: np.ndarray,
    variance: np.ndarray,
    covariance: Callable[[np.ndarray], np.ndarray],
    *,
    total_weight: float,
    n_pieces: int,
    alpha: float,
    penalty: str,
) -> tuple[Coordinates, np.ndarray]:
    """Find B, from the moments of the features alone.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_features,)
        Mean and variance of each feature.
    covariance : callable
        Returns the covariance of the features after each is multiplied by its scale.
    total_weight : float
        Sum of the sample weights.
    n_pieces : int
        Number of pieces of all maxima together.
    alpha : float
        Weight of the penalty.
    penalty : {"norm", "variance"}
        The matrix of the penalty: P = I or P = C.

    Returns
    -------
    coordinates : Coordinates
        The solver's coordinates.
    ridge : ndarray of shape (n_directions,)
        Weight of the squared slopes in them.
    """
    # The variance of a constant column is a rounding error of its mean.
    variance = np.where(variance <= np.square(1e-14 * np.abs(mean)), 0.0, variance)
    has_offset = (variance > 0) & (np.abs(mean) > LARGE_OFFSET * np.sqrt(variance))
    center = np.where(has_offset, mean, 0.0)
    kappa = alpha * n_pieces / total_weight
    norm_kappa = kappa if penalty == "norm" else 0.0
    with np.errstate(divide="ignore"):
        scale = np.where(variance > 0, 1.0 / np.sqrt(variance + norm_kappa), 0.0)
    if len(mean) > ROTATE_UP_TO and penalty == "norm":
        used = scale > 0
        basis = np.zeros((len(scale), int(used.sum())))
        basis[used, np.arange(basis.shape[1])] = scale[used]
        return Coordinates(mean, basis, center, scale), alpha * scale[used] ** 2
    K = covariance(scale)
    K[np.diag_indices_from(K)] += norm_kappa * scale**2
    eigenvalues, Q = np.linalg.eigh(K)
    used = eigenvalues > RANK_TOL * max(1.0, eigenvalues[-1])
    basis = scale[:, None] * Q[:, used] / np.sqrt(eigenvalues[used])
    ridge = np.zeros(basis.shape[1])
    if penalty == "variance":
        basis /= np.sqrt(1.0 + kappa)
        ridge += alpha / (1.0 + kappa)
    elif alpha > 0:
        ridge, rotation = np.linalg.eigh(alpha * basis.T @ basis)
        # What the penalty leaves of the unit curvature is the variance. Where nothing is left, the best slope is zero.
        varies = 1.0 - ridge * n_pieces / total_weight > RANK_TOL
        ridge, basis = ridge[varies], basis @ rotation[:, varies]
    return Coordinates(mean, basis, center), ridge
