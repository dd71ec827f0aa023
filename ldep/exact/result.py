"""The answers of `counterfactual`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

# Relative gap below which an answer counts as proven.
PROVEN = 1e-5


class Change(NamedTuple):
    """One feature that changes."""

    feature: str
    before: float
    after: float

    def __str__(self) -> str:
        return f"{self.feature}: {self.before:.6g} -> {self.after:.6g}"


def is_proven(distance: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Whether there is no allowed row nearer than the distance; for an infinite one, whether there is none at all."""
    finite = np.where(np.isfinite(distance), distance, 0.0)
    return np.where(np.isfinite(distance), finite - bound <= PROVEN * finite + 1e-12, np.isinf(bound))


@dataclass(frozen=True)
class Counterfactuals:
    """The nearest rows of another class, one per row of X.

    Attributes
    ----------
    rows : ndarray of shape (n_samples, n_features) or DataFrame
        The nearest rows. `predict` gives them the class in `target`. NaN where no allowed row has the class.
    before, target : ndarray of shape (n_samples,)
        Classes that are predicted for the rows of X and for the nearest rows.
    distance : ndarray of shape (n_samples,)
        Distance of the nearest row from the row of X; infinite where there is none.
    bound : ndarray of shape (n_samples,)
        Proven: no allowed row of the class is nearer than this.
    start : ndarray of shape (n_samples, n_features)
        The rows of X.
    names : list of str
        Names of the features.
    norm : str
        Norm of the distance.
    """

    rows: Any
    before: np.ndarray
    target: np.ndarray
    distance: np.ndarray
    bound: np.ndarray
    start: np.ndarray = field(repr=False)
    names: list[str] = field(repr=False)
    norm: str = "l2"

    @property
    def gap(self) -> np.ndarray:
        """How much nearer an undiscovered row could be. It is that of rounding where the answer is proven."""
        return np.where(np.isfinite(self.distance), self.distance - self.bound, 0.0)

    @property
    def optimal(self) -> np.ndarray:
        """Whether the row is proven to be the nearest, or proven not to exist."""
        return is_proven(self.distance, self.bound)

    @property
    def changes(self) -> list[list[Change]]:
        """The features that change, from what and to what, with the largest change first."""
        values = np.asarray(self.rows, dtype=float)
        found = []
        for x, z in zip(self.start, values):
            changed = np.flatnonzero((x != z) & np.isfinite(z))
            changed = changed[np.argsort(-np.abs(z - x)[changed], kind="stable")]
            found.append([Change(self.names[f], float(x[f]), float(z[f])) for f in changed])
        return found

    def __len__(self) -> int:
        return len(self.distance)

    def __str__(self) -> str:
        lines = []
        for number, changes in enumerate(self.changes):
            lines.append(f"row {number}: {self.before[number]} -> {self.target[number]}, {self._quality(number)}")
            lines += [f"    {change}" for change in changes]
        return "\n".join(lines)

    def _quality(self, number: int) -> str:
        distance, bound = self.distance[number], self.bound[number]
        norm = {"l2": "L2", "l1": "L1", "linf": "Linf"}[self.norm]
        if np.isinf(distance):
            return "no allowed row has it" if np.isinf(bound) else f"none found, and none is nearer than {bound:.6g}"
        if self.optimal[number]:
            return f"{norm} distance {distance:.6g}, proven to be the nearest"
        return f"{norm} distance {distance:.6g}; none is nearer than {bound:.6g}"
