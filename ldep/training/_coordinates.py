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

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ldep._utils import CentredRows, mean_and_variance
from ldep.model import Maxima
from ldep.training._pieces import LinearPieces
from ldep.training._problem import Loss, Problem, by_class, signs_of
from ldep.training._samples import Samples


@dataclass(frozen=True)
class Coordinates(ABC):
    """The map z = B^T (x - mean) from the user's coordinates to the solver's.

    `center` is the origin of the fitted model: the mean of features that have a large offset, and 0 for the others.
    """

    mean: np.ndarray
    center: np.ndarray

    @property
    @abstractmethod
    def n_directions(self) -> int:
        """Number of features in the solver's coordinates."""

    @abstractmethod
    def transform(self, centred: np.ndarray) -> np.ndarray:
        """z of rows from which the mean has been subtracted."""

    @abstractmethod
    def _user_slopes(self, slopes: np.ndarray) -> np.ndarray:
        """Slopes in the user's coordinates, from those in the solver's."""

    @abstractmethod
    def _solver_slopes(self, slopes: np.ndarray) -> np.ndarray:
        """Slopes in the solver's coordinates, from those in the user's."""

    def to_user(self, theta: np.ndarray, origin: np.ndarray | float = 0.0) -> np.ndarray:
        """One row [slopes, value at `origin`] per piece in the user's coordinates, from theta in the solver's."""
        table = theta.reshape(-1, self.n_directions + 1)
        slopes = self._user_slopes(table[:, :-1])
        return np.column_stack([slopes, table[:, -1] - slopes @ (self.mean - origin)])

    def fitted(self, theta: np.ndarray, group_sizes: tuple[int, ...], *, monotone: bool = False) -> Maxima:
        """The model in the user's coordinates, from theta in the solver's.

        The values at 0 are far beyond the scores where a feature has a large offset, and cancel: those at the centre
        are computed on their own.
        """
        table, offsets = self.to_user(theta), self.to_user(theta, self.center)[:, -1]
        ends = np.cumsum(group_sizes)[:-1]
        slopes, at_center, intercepts = (
            by_class(np.split(part, ends)) for part in (table[:, :-1], offsets, table[:, -1])
        )
        return Maxima(slopes, at_center, intercepts, self.center, signs_of(len(group_sizes)), monotone)

    def theta_of(self, model: Maxima) -> np.ndarray:
        """theta in the solver's coordinates: where training resumes at a model."""
        slopes, offsets = by_class(list(model.slopes)), by_class(list(model.offsets))
        return self.to_solver(np.column_stack([np.vstack(slopes), np.concatenate(offsets)]), model.center)

    def to_solver(self, table: np.ndarray, origin: np.ndarray | float = 0.0) -> np.ndarray:
        """theta in the solver's coordinates, from one row [slopes, value at `origin`] per piece in the user's.

        What the slopes do in directions that the solver's coordinates leave out is lost.
        """
        slopes = self._solver_slopes(table[:, :-1])
        return np.column_stack([slopes, table[:, -1] + table[:, :-1] @ (self.mean - origin)]).ravel()


@dataclass(frozen=True)
class RotatedCoordinates(Coordinates):
    """Coordinates whose directions mix the features; `basis` is B, of shape (n_features, n_directions)."""

    basis: np.ndarray

    @property
    def n_directions(self) -> int:
        return self.basis.shape[1]

    def transform(self, centred: np.ndarray) -> np.ndarray:
        return centred @ self.basis

    def _user_slopes(self, slopes: np.ndarray) -> np.ndarray:
        return slopes @ self.basis.T

    def _solver_slopes(self, slopes: np.ndarray) -> np.ndarray:
        return np.linalg.lstsq(self.basis, slopes.T, rcond=None)[0].T


@dataclass(frozen=True)
class ScaledCoordinates(Coordinates):
    """Coordinates in which each feature is only scaled: B is diagonal, and features of scale 0 are left out."""

    scale: np.ndarray

    @property
    def used(self) -> np.ndarray:
        """Which features are not left out."""
        return self.scale > 0

    @property
    def n_directions(self) -> int:
        return int(np.count_nonzero(self.used))

    def transform(self, centred: np.ndarray) -> np.ndarray:
        return centred[:, self.used] * self.scale[self.used]

    def transform_sparse(self, X: sparse.csr_array) -> CentredRows:
        """z of sparse rows, from which nothing has been subtracted.

        The mean of a column without zeros can be subtracted without filling anything, and is: it may be so much larger
        than the variation that products in single precision would lose the digits that matter.
        """
        S, mean = X[:, self.used], self.mean[self.used]
        is_full = np.bincount(S.indices, minlength=S.shape[1]) == S.shape[0]
        centred = sparse.csr_array((S.data - np.where(is_full, mean, 0.0)[S.indices], S.indices, S.indptr), S.shape)
        return CentredRows(centred, np.where(is_full, 0.0, mean)) * self.scale[self.used]

    def pieces(self, group_sizes: tuple[int, ...], monotone: np.ndarray | None) -> LinearPieces:
        """Pieces in these coordinates; the scales are positive, so monotone features remain monotone."""
        return LinearPieces(group_sizes, self.n_directions, None if monotone is None else monotone[self.used])

    def _user_slopes(self, slopes: np.ndarray) -> np.ndarray:
        user = np.zeros((len(slopes), len(self.scale)))
        user[:, self.used] = slopes * self.scale[self.used]
        return user

    def _solver_slopes(self, slopes: np.ndarray) -> np.ndarray:
        return slopes[:, self.used] / self.scale[self.used]


# Beyond this many features the eigendecompositions cost more than they save, and columns are only scaled.
ROTATE_UP_TO = 600
# A feature whose mean is beyond this many standard deviations is centred in the fitted model: digits would be lost.
LARGE_OFFSET = 1000.0
# Eigenvalues of a matrix with a unit diagonal below this are rounding errors.
RANK_TOL = 1e-13
# alpha="scale" per unit of variance. Chosen on 58 problems, most of them synthetic or unbalanced.
ALPHA_PER_VARIANCE = 0.15
# For more than two classes it is multiplied by the number of features, of at most LARGEST_COUNT, divided by
# REFERENCE_COUNT. Chosen on 38 problems, most of them synthetic.
REFERENCE_COUNT, LARGEST_COUNT = 10, 40


def scaled_alpha(samples: Samples, penalty: str, n_classes: int) -> float:
    """The weight of the penalty for alpha="scale", from samples in the user's coordinates; see `alpha_by_variance`."""
    X, _, weight = samples
    return alpha_by_variance(*mean_and_variance(X, weight), penalty=penalty, n_classes=n_classes)


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
    loss: Loss = "hinge",
) -> tuple[Problem[LinearPieces], Coordinates]:
    """State the training problem, from samples in the user's coordinates, in coordinates that suit a solver.

    The penalty "norm" is P = I, and "variance" is P = C; it must be "norm" for sparse samples and for monotone
    features. `monotone` is +1 for features in which tau must not fall, -1 where it must not rise, 0 for the others.
    """
    X, y, weight = samples
    total, n_pieces = weight.sum(), sum(group_sizes)
    mean, variance = mean_and_variance(X, weight)
    if sparse.issparse(X) or monotone is not None:
        scaled, ridge = scale_features(mean, variance, total_weight=total, n_pieces=n_pieces, alpha=alpha)
        Z = scaled.transform_sparse(X) if sparse.issparse(X) else scaled.transform(X - mean)
        return Problem(Z, y, weight, scaled.pieces(group_sizes, monotone), ridge, loss), scaled
    centred = X - mean

    def covariance(scale: np.ndarray) -> np.ndarray:
        scaled = centred * scale
        return (scaled.T * weight) @ scaled / total

    coordinates, ridge = choose_coordinates(
        mean, variance, covariance, total_weight=total, n_pieces=n_pieces, alpha=alpha, penalty=penalty
    )
    pieces = LinearPieces(group_sizes, coordinates.n_directions)
    return Problem(coordinates.transform(centred), y, weight, pieces, ridge, loss), coordinates


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
    """Find B, and the weight of the squared slopes in each direction, from the moments of the features alone.

    `covariance` returns the covariance of the features after each is multiplied by its scale. `n_pieces` is the number
    of pieces of all maxima together.
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
