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
    """The map z = B^T (x - mean) from the user's coordinates to the solver's."""

    mean: np.ndarray
    basis: np.ndarray

    def to_user(self, theta: np.ndarray) -> np.ndarray:
        """[W c; M d] in the user's coordinates, from theta in the solver's."""
        table = theta.reshape(-1, self.basis.shape[1] + 1)
        slopes = table[:, :-1] @ self.basis.T
        return np.column_stack([slopes, table[:, -1] - slopes @ self.mean])


def condition(samples: Samples, r1: int, r2: int, alpha: float, penalty: str = "norm") -> tuple[Problem, Frame]:
    """The training problem in the solver's coordinates, and the way back.

    `penalty` is "norm" (P = I) or "variance" (P = C).
    """
    X, y, weight = samples
    total = weight.sum()
    mean = weight @ X / total
    centred = X - mean
    variance = weight @ np.square(centred) / total
    # A constant column keeps a rounding error of its mean.
    variance[variance <= np.square(1e-14 * np.abs(mean))] = 0.0
    kappa = alpha * (r1 + r2) / total
    norm_kappa = kappa if penalty == "norm" else 0.0
    with np.errstate(divide="ignore"):
        scale = np.where(variance > 0, 1.0 / np.sqrt(variance + norm_kappa), 0.0)
    if X.shape[1] > ROTATE_UP_TO and penalty == "norm":
        used = scale > 0
        basis = np.zeros((len(scale), int(used.sum())))
        basis[used, np.arange(basis.shape[1])] = scale[used]
        ridge = alpha * scale[used] ** 2
        Z = centred[:, used] * scale[used]
    else:
        scaled = centred * scale
        K = (scaled.T * weight) @ scaled / total
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
            varies = 1.0 - ridge * (r1 + r2) / total > RANK_TOL
            ridge, basis = ridge[varies], basis @ rotation[:, varies]
        Z = centred @ basis
    return Problem(Z, y, weight, LinearPieces(r1, r2, basis.shape[1]), ridge), Frame(mean, basis)
