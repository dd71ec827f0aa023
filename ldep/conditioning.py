"""Coordinates in which the ℓ-DEP is easy to train.

tau does not care in which affine coordinates its features are written, so a solver may choose its own. With C the
covariance of the features, P the matrix of the penalty alpha/2 sum_p w_p^T P w_p and kappa = alpha r / m, where r is
the number of pieces, the curvature of F along the slopes of a piece is close to a multiple of C + kappa P: the loss
bends it by C, as each piece is active on about m / r samples, and the penalty by alpha P. `condition` finds B with

    B^T (C + kappa P) B = I   and   alpha B^T P B = diag(ridge),

writes z = B^T (x - mean), and states the same problem in z: same tau, same F, round level sets. Directions in which
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
# Eigenvalues of a matrix with a unit diagonal below this are rounding errors.
RANK_TOL = 1e-13


@dataclass(frozen=True)
class Frame:
    """The map z = B^T (x - mean) from the user's coordinates to the solver's.

    `scale` is set where B only scales columns (and leaves out those of scale 0): products with B would be a waste.
    """

    mean: np.ndarray
    basis: np.ndarray
    scale: np.ndarray | None = None

    def rotate(self, centred: np.ndarray) -> np.ndarray:
        """z of rows from which the mean was taken away."""
        if self.scale is None:
            return centred @ self.basis
        used = self.scale > 0
        return centred[:, used] * self.scale[used]

    def to_user(self, theta: np.ndarray) -> np.ndarray:
        """[W c; M d] in the user's coordinates, from theta in the solver's."""
        table = theta.reshape(-1, self.basis.shape[1] + 1)
        slopes = table[:, :-1] @ self.basis.T
        return np.column_stack([slopes, table[:, -1] - slopes @ self.mean])

    def to_solver(self, table: np.ndarray) -> np.ndarray:
        """theta in the solver's coordinates, from [W c; M d] in the user's. What slopes do outside them is lost."""
        slopes = np.linalg.lstsq(self.basis, table[:, :-1].T, rcond=None)[0].T
        return np.column_stack([slopes, table[:, -1] + table[:, :-1] @ self.mean]).ravel()


def condition(samples: Samples, r1: int, r2: int, alpha: float, penalty: str = "norm") -> tuple[Problem, Frame]:
    """The training problem in the solver's coordinates, and the way back.

    `penalty` is "norm" (P = I) or "variance" (P = C).
    """
    X, y, weight = samples
    total = weight.sum()
    mean = weight @ X / total
    centred = X - mean

    def covariance(scale: np.ndarray) -> np.ndarray:
        scaled = centred * scale
        return (scaled.T * weight) @ scaled / total

    variance = weight @ np.square(centred) / total
    frame, ridge = choose(mean, variance, covariance, total, r1 + r2, alpha, penalty)
    return Problem(frame.rotate(centred), y, weight, LinearPieces(r1, r2, frame.basis.shape[1]), ridge), frame


def choose(
    mean: np.ndarray,
    variance: np.ndarray,
    covariance: Callable[[np.ndarray], np.ndarray],
    total: float,
    r: int,
    alpha: float,
    penalty: str,
) -> tuple[Frame, np.ndarray]:
    """The solver's coordinates and the ridge in them, for `total` samples and r pieces.

    `covariance` is asked for the covariance of the features times a scale each.
    """
    # A constant column keeps a rounding error of its mean.
    variance = np.where(variance <= np.square(1e-14 * np.abs(mean)), 0.0, variance)
    kappa = alpha * r / total
    norm_kappa = kappa if penalty == "norm" else 0.0
    with np.errstate(divide="ignore"):
        scale = np.where(variance > 0, 1.0 / np.sqrt(variance + norm_kappa), 0.0)
    if len(mean) > ROTATE_UP_TO and penalty == "norm":
        used = scale > 0
        basis = np.zeros((len(scale), int(used.sum())))
        basis[used, np.arange(basis.shape[1])] = scale[used]
        return Frame(mean, basis, scale), alpha * scale[used] ** 2
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
        # What the penalty does not take of the unit curvature is the variance. Where there is none, the best
        # slope is zero.
        varies = 1.0 - ridge * r / total > RANK_TOL
        ridge, basis = ridge[varies], basis @ rotation[:, varies]
    return Frame(mean, basis), ridge
