"""Coordinates in which the ℓ-DEP is easy to train.

The model does not depend on the affine coordinates of the features, so a solver may choose its own. With C the
covariance of the features, P the matrix of the penalty alpha/2 sum_p w_p^T P w_p and kappa = alpha r / m, where r is
the number of pieces of all groups, the curvature of F along the slopes of a piece is close to a multiple of
C + kappa P: the loss contributes C, as each piece is active on about m / r samples, and the penalty contributes
alpha P. `condition` finds B with

    B^T (C + kappa P) B = I   and   alpha B^T P B = diag(ridge),

writes z = B^T (x - mean), and states the same problem in z: same scores, same F, round level sets. Directions in which
the data do not vary (constant columns, the difference of duplicate ones) are left out.

Where B must not mix features, it is diagonal: sparse samples would become dense, and bounds on the slopes of a feature
would no longer be bounds on single parameters. The equations then hold on the diagonal only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from ldep.coordinates import Coordinates, RotatedCoordinates, ScaledCoordinates
from ldep.pieces import LinearPieces
from ldep.problem import Problem
from ldep.samples import Samples
from ldep.sparse_rows import mean_and_variance

# Beyond this many features the eigendecompositions cost more than they save, and columns are only scaled.
ROTATE_UP_TO = 600
# A feature whose mean is beyond this many standard deviations is centred in the fitted model: digits would be lost.
LARGE_OFFSET = 1000.0
# Eigenvalues of a matrix with a unit diagonal below this are rounding errors.
RANK_TOL = 1e-13
# alpha="scale" per unit of variance. Chosen on the problems of `benchmarks/development.py`.
ALPHA_PER_VARIANCE = 0.15
# For more than two classes it is multiplied by the number of features, of at most LARGEST_COUNT, divided by
# REFERENCE_COUNT. Chosen on the problems of `benchmarks/development_classes.py`.
REFERENCE_COUNT, LARGEST_COUNT = 10, 40


def scaled_alpha(samples: Samples, penalty: str, n_classes: int) -> float:
    """The weight of the penalty for alpha="scale", from samples in the user's coordinates; see `alpha_by_variance`."""
    X, _, weight = samples
    if sparse.issparse(X):
        return alpha_by_variance(*mean_and_variance(X, weight), penalty=penalty, n_classes=n_classes)
    mean = weight @ X / weight.sum()
    variance = weight @ np.square(X - mean) / weight.sum()
    return alpha_by_variance(mean, variance, penalty=penalty, n_classes=n_classes)


def alpha_by_variance(mean: np.ndarray, variance: np.ndarray, *, penalty: str, n_classes: int) -> float:
    """The weight of the penalty for features with this mean and variance.

    With the penalty "norm" it is 0.15 times the sum of the variances: features in other units then give the same model,
    as long as all are in the same. With "variance" the features count as if each had the variance 1. For more than two
    classes it grows with the number of features once again, up to 40 of them: n / 10 times as much.
    """
    variance = _without_rounding(variance, mean)
    n_varying = int(np.count_nonzero(variance))
    alpha = ALPHA_PER_VARIANCE * float(variance.sum() if penalty == "norm" else n_varying)
    if n_classes > 2:
        alpha *= min(n_varying, LARGEST_COUNT) / REFERENCE_COUNT
    return alpha


def condition(
    samples: Samples,
    group_sizes: tuple[int, ...],
    alpha: float,
    penalty: str = "norm",
    monotone: np.ndarray | None = None,
) -> tuple[Problem[LinearPieces], Coordinates]:
    """State the training problem in coordinates that suit a solver.

    Parameters
    ----------
    samples : Samples
        The samples in the user's coordinates, dense or sparse.
    group_sizes : tuple of int
        Number of pieces in each maximum.
    alpha : float
        Weight of the penalty.
    penalty : {"norm", "variance"}, default="norm"
        The matrix of the penalty: P = I or P = C. It must be I for sparse samples and for monotone features.
    monotone : ndarray of shape (n_features,), default=None
        +1 for features in which tau must not fall, -1 where it must not rise, 0 for the others.

    Returns
    -------
    problem : Problem
        The training problem in the solver's coordinates.
    coordinates : Coordinates
        The way back.
    """
    X, y, weight = samples
    total, n_pieces = weight.sum(), sum(group_sizes)
    if sparse.issparse(X):
        mean, variance = mean_and_variance(X, weight)
        scaled, ridge = scale_features(mean, variance, total_weight=total, n_pieces=n_pieces, alpha=alpha)
        return Problem(scaled.transform_sparse(X), y, weight, scaled.pieces(group_sizes, monotone), ridge), scaled
    mean = weight @ X / total
    centred = X - mean
    variance = weight @ np.square(centred) / total
    if monotone is not None:
        scaled, ridge = scale_features(mean, variance, total_weight=total, n_pieces=n_pieces, alpha=alpha)
        return Problem(scaled.transform(centred), y, weight, scaled.pieces(group_sizes, monotone), ridge), scaled

    def covariance(scale: np.ndarray) -> np.ndarray:
        scaled = centred * scale
        return (scaled.T * weight) @ scaled / total

    coordinates, ridge = choose_coordinates(
        mean, variance, covariance, total_weight=total, n_pieces=n_pieces, alpha=alpha, penalty=penalty
    )
    pieces = LinearPieces(group_sizes, coordinates.n_directions)
    return Problem(coordinates.transform(centred), y, weight, pieces, ridge), coordinates


def scale_features(
    mean: np.ndarray, variance: np.ndarray, *, total_weight: float, n_pieces: int, alpha: float
) -> tuple[ScaledCoordinates, np.ndarray]:
    """Find the best diagonal B for P = I. Parameters and results are those of `choose_coordinates`."""
    variance = _without_rounding(variance, mean)
    with np.errstate(divide="ignore"):
        scale = np.where(variance > 0, 1.0 / np.sqrt(variance + alpha * n_pieces / total_weight), 0.0)
    return ScaledCoordinates(mean, _center(mean, variance), scale), alpha * scale[scale > 0] ** 2


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
    if len(mean) > ROTATE_UP_TO and penalty == "norm":
        return scale_features(mean, variance, total_weight=total_weight, n_pieces=n_pieces, alpha=alpha)
    variance = _without_rounding(variance, mean)
    kappa = alpha * n_pieces / total_weight
    norm_kappa = kappa if penalty == "norm" else 0.0
    with np.errstate(divide="ignore"):
        scale = np.where(variance > 0, 1.0 / np.sqrt(variance + norm_kappa), 0.0)
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
    return RotatedCoordinates(mean, _center(mean, variance), basis), ridge


def _without_rounding(variance: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The variances, with those of constant columns, which are rounding errors of their means, set to zero."""
    return np.where(variance <= np.square(1e-14 * np.abs(mean)), 0.0, variance)


def _center(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The means of features with a large offset, and 0 for the others."""
    has_offset = (variance > 0) & (np.abs(mean) > LARGE_OFFSET * np.sqrt(variance))
    return np.where(has_offset, mean, 0.0)
