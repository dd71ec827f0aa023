"""The allowed point of a polyhedron that is nearest to a row, exactly.

A polyhedron is {z : A z >= b}. All programs are written in u = (z - x) / scale of the features that may change, so that
the distance is a plain norm of u:

    minimise |u|  subject to  G u >= h  and  low <= u <= high.

For L2 it is a least-distance problem. For L1 and Linf it is a linear program. Integer features and categories are
branched on for L2, and make a mixed-integer program for L1 and Linf.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ldep.exact.deadline import Deadline
from ldep.exact.discrete import nearest_discrete_l2
from ldep.exact.domain import Choice, Domain
from ldep.exact.least_distance import nearest_l2
from ldep.exact.programs import nearest_by_program
from ldep.exact.where import Box


@dataclass(frozen=True)
class Row:
    """One row with its domain, in the coordinates u.

    `choices` has, for each choice that can change, its coordinates and the values that they can have together.
    `stepped` has the coordinates of the integer features with the length of one step.
    """

    x: np.ndarray
    domain: Domain
    free: np.ndarray
    low: np.ndarray
    high: np.ndarray
    choices: list[tuple[np.ndarray, np.ndarray]]
    stepped: list[tuple[int, float]]

    @classmethod
    def of(cls, x: np.ndarray, domain: Domain) -> Row:
        free = np.flatnonzero(~domain.frozen)
        scale = domain.scale[free]
        low, high = (domain.lower[free] - x[free]) / scale, (domain.upper[free] - x[free]) / scale
        place = {column: k for k, column in enumerate(free)}
        choices = []
        for choice in domain.choices:
            columns = np.array([column for column in choice.columns if column in place], dtype=int)
            if len(columns):
                values = (_allowed_rows(x, domain, choice) - x[columns]) / domain.scale[columns]
                at = np.array([place[column] for column in columns])
                low[at] = np.maximum(low[at], values.min(axis=0, initial=np.inf))
                high[at] = np.minimum(high[at], values.max(axis=0, initial=-np.inf))
                choices.append((at, values))
        stepped = [
            (place[column], domain.steps[column] / domain.scale[column])
            for column in np.flatnonzero((domain.steps > 0) & ~domain.frozen)
        ]
        return cls(x, domain, free, low, high, choices, stepped)

    def rows(self, slopes: np.ndarray) -> np.ndarray:
        """Slopes in u of functions with these slopes in z."""
        return slopes[..., self.free] * self.domain.scale[self.free]

    def point(self, u: np.ndarray) -> np.ndarray:
        """The row at u. Features that do not change keep their bits."""
        z = self.x.copy()
        z[self.free] += u * self.domain.scale[self.free]
        for choice in self.domain.choices:
            nearest = np.abs(choice.table - z[choice.columns]).max(axis=1).argmin()
            unchanged = np.allclose(self.x[choice.columns], choice.table[nearest], rtol=1e-9, atol=1e-9)
            z[choice.columns] = self.x[choice.columns] if unchanged else choice.table[nearest]
        stepped = np.flatnonzero((self.domain.steps > 0) & ~self.domain.frozen)
        step = self.domain.steps[stepped]
        z[stepped] = self.x[stepped] + np.rint((z[stepped] - self.x[stepped]) / step) * step
        outside = ~self.domain.frozen & self.domain.continuous
        z[outside] = np.clip(z[outside], self.domain.lower[outside], self.domain.upper[outside])
        return z

    def nearest(self, G: np.ndarray, h: np.ndarray, cutoff: float, deadline: Deadline) -> np.ndarray | None:
        """The nearest u with G u >= h in the domain; None if there is none, or none nearer than the cutoff."""
        if (self.low > self.high).any():
            return None
        if self.domain.norm != "l2":
            return nearest_by_program(self, G, h, deadline)
        if not self.domain.discrete:
            return nearest_l2(G, h, self.low, self.high)
        return nearest_discrete_l2(self, G, h, cutoff, deadline)

    def nearest_in_box(self, G: np.ndarray, h: np.ndarray, box: Box) -> np.ndarray | None:
        """The nearest u with G u >= h in a box, whether its integer features and choices are allowed or not."""
        if (box[0] > box[1]).any():
            return None
        if self.domain.norm == "l2":
            return nearest_l2(G, h, *box)
        return nearest_by_program(replace(self, low=box[0], high=box[1], choices=[], stepped=[]), G, h, Deadline())


def _allowed_rows(x: np.ndarray, domain: Domain, choice: Choice) -> np.ndarray:
    """What the columns that can change can be, where the frozen columns of a choice are as in the row."""
    frozen = domain.frozen[choice.columns]
    same = np.isclose(choice.table[:, frozen], x[choice.columns[frozen]], rtol=1e-6, atol=1e-6).all(axis=1)
    return choice.table[same][:, ~frozen]
