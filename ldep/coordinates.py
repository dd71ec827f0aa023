"""The coordinates of a solver, and the way back to the user's. `ldep/conditioning.py` chooses them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ldep.pieces import LinearPieces
from ldep.sparse_rows import CentredRows


@dataclass(frozen=True)
class Coordinates(ABC):
    """The map z = B^T (x - mean) from the user's coordinates to the solver's.

    Parameters
    ----------
    mean : ndarray of shape (n_features,)
        Mean of the features.
    center : ndarray of shape (n_features,)
        Origin of the fitted model: the mean of features that have a large offset, and 0 for the others.
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

    def to_solver(self, table: np.ndarray, origin: np.ndarray | float = 0.0) -> np.ndarray:
        """theta in the solver's coordinates, from one row [slopes, value at `origin`] per piece in the user's.

        What the slopes do in directions that the solver's coordinates leave out is lost.
        """
        slopes = self._solver_slopes(table[:, :-1])
        return np.column_stack([slopes, table[:, -1] + table[:, :-1] @ (self.mean - origin)]).ravel()


@dataclass(frozen=True)
class RotatedCoordinates(Coordinates):
    """Coordinates whose directions mix the features.

    Parameters
    ----------
    basis : ndarray of shape (n_features, n_directions)
        The matrix B.
    """

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
    """Coordinates in which each feature is only scaled: B is diagonal, and is not stored as a matrix.

    Parameters
    ----------
    scale : ndarray of shape (n_features,)
        The diagonal of B. Features of scale 0 are left out.
    """

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
