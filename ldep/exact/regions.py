"""The regions of a class: the class k is predicted where one of its pieces is above all pieces of all other classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldep.exact.domain import Domain
from ldep.exact.models import Maxima


@dataclass(frozen=True)
class Regions:
    """The polyhedra of one class, one per piece: differences[i, j] . (z - center) + offsets[i, j] >= 0 for all j.

    Parameters
    ----------
    differences : ndarray of shape (n_pieces, n_others, n_features)
        Slopes of each piece of the class minus those of each piece of the others.
    offsets : ndarray of shape (n_pieces, n_others)
        The same for the values at the centre.
    center : ndarray of shape (n_features,)
        Origin of the pieces.
    """

    differences: np.ndarray
    offsets: np.ndarray
    center: np.ndarray

    @classmethod
    def of(cls, model: Maxima, target: int) -> Regions:
        others = [k for k in range(model.n_classes) if k != target]
        slopes = np.vstack([model.slopes[k] for k in others])
        offsets = np.concatenate([model.offsets[k] for k in others])
        return cls(
            model.slopes[target][:, None] - slopes,
            model.offsets[target][:, None] - offsets,
            model.center,
        )

    def shortfall(self, X: np.ndarray) -> np.ndarray:
        """How far each condition is from holding: shape (n_rows, n_pieces, n_others), positive where it fails."""
        return -(np.einsum("ijf,rf->rij", self.differences, X - self.center, optimize=True) + self.offsets)

    def lower_bounds(self, X: np.ndarray, domain: Domain) -> tuple[np.ndarray, np.ndarray]:
        """The shortfalls, and for each region a distance that it has at least from each row."""
        shortfall = self.shortfall(X)
        slope = domain.dual_norm(self.differences)
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.where(shortfall > 0, shortfall / slope, 0.0)
        return shortfall, distance.max(axis=2)
