"""The pieces of all members of an average in one table, so that a question about one row needs few operations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldep.exact.models import Average, ClassVotes, Maxima


@dataclass(frozen=True)
class Stacked:
    """The pieces of all members, padded to equal numbers.

    Parameters
    ----------
    slopes : list of ndarray of shape (n_members, n_pieces, n_features)
        One array per class.
    offsets : list of ndarray of shape (n_members, n_pieces)
        Values of the pieces at the centre; minus infinity where a member has fewer pieces than another.
    center : ndarray of shape (n_features,)
        Origin that all members share.
    """

    slopes: list[np.ndarray]
    offsets: list[np.ndarray]
    center: np.ndarray

    @classmethod
    def of(cls, model: Maxima | Average | ClassVotes) -> Stacked:
        members = [model] if isinstance(model, Maxima) else model.members
        center = members[0].center
        # Where features have a large offset, the centres differ by little, and their difference is exact.
        shifts = np.array([center - member.center for member in members])
        slopes, offsets = [], []
        for k in range(members[0].n_classes):
            sizes = [len(member.offsets[k]) for member in members]
            if min(sizes) == max(sizes):
                w = np.array([member.slopes[k] for member in members])
                c = np.array([member.offsets[k] for member in members])
            else:
                w = np.zeros((len(members), max(sizes), len(center)))
                c = np.full((len(members), max(sizes)), -np.inf)
                for m, member in enumerate(members):
                    w[m, : sizes[m]], c[m, : sizes[m]] = member.slopes[k], member.offsets[k]
            slopes.append(w)
            offsets.append(c + np.einsum("mpf,mf->mp", w, shifts) if shifts.any() else c)
        return cls(slopes, offsets, center)

    def scores(self, X: np.ndarray) -> list[np.ndarray]:
        """The values of the pieces on each row: one array of shape (n_rows * n_members, n_pieces) per class."""
        Z = X - self.center
        return [self._products(Z, w) + np.tile(c, (len(X), 1)) for w, c in zip(self.slopes, self.offsets)]

    def changes(self, way: np.ndarray) -> list[np.ndarray]:
        """How much the values of the pieces change along ways, in the same shapes."""
        return [self._products(way, w) for w in self.slopes]

    def _products(self, Z: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        return (Z @ slopes.reshape(-1, slopes.shape[-1]).T).reshape(-1, slopes.shape[1])

    def mean_slopes(self, k: int, shares: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The weighted sum over members and pieces of slopes of class k, one row per row of the data.

        `shares` has one row per row and member.
        """
        slopes = self.slopes[k]
        table = shares.reshape(-1, *slopes.shape[:2]) * weights[:, None]
        return table.reshape(len(table), -1) @ slopes.reshape(-1, slopes.shape[-1])
