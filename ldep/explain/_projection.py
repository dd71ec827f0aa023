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
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from ldep.explain._domain import Choice, Domain
from ldep.explain._least_distance import Box, Deadline, OutOfTime, nearest_discrete_l2, nearest_l2

STOPPED = 1  # the status of scipy for a program that was stopped by its time limit


def nearest_by_program(row, G: np.ndarray, h: np.ndarray, deadline: Deadline) -> np.ndarray | None:
    """The nearest u in L1 or Linf: a linear program, with integer variables where the row has discrete features.

    Variables: the rises p and the falls q with u = p - q; for Linf their common bound t; one integer per stepped
    feature; one binary per row of a choice's table.
    """
    low, high = row.low, row.high
    n, domain = len(low), row.domain
    size = np.linalg.norm(G, axis=1)
    if (h[size == 0] > 0).any():
        return None
    G, h = G[size > 0] / size[size > 0, None], h[size > 0] / size[size > 0]
    # The program is solved in units of the farthest half-space: HiGHS has absolute tolerances.
    unit = max(h.max(initial=0.0), 1e-300)
    if row.choices or row.stepped or np.isfinite(low).any() or np.isfinite(high).any():
        unit = 1.0
    h, low, high = h / unit, low / unit, high / unit
    lower = np.concatenate([np.maximum(low, 0.0), np.maximum(-high, 0.0)])
    upper = np.concatenate([np.maximum(high, 0.0), np.maximum(-low, 0.0)])
    cost = np.ones(2 * n)
    constraints = [(sparse.csr_array(np.hstack([G, -G])), h, np.full(len(h), np.inf))]
    integrality = np.zeros(2 * n)
    if domain.norm == "linf":
        identity = sparse.eye_array(n)
        block = sparse.hstack([-identity, -identity, np.ones((n, 1))])
        constraints[0] = (_widen(constraints[0][0], 1), h, constraints[0][2])
        constraints.append((block, np.zeros(n), np.full(n, np.inf)))
        lower, upper = np.append(lower, 0.0), np.append(upper, np.inf)
        cost, integrality = np.append(np.zeros(2 * n), 1.0), np.append(integrality, 0)
    blocks = _discrete_blocks(row)
    for matrix, left, right, kind in blocks:
        extra = matrix.shape[1] - 2 * n
        width = len(cost)
        constraints = [(_widen(A, extra), a, b) for A, a, b in constraints]
        parts = [matrix[:, : 2 * n], sparse.csr_array((matrix.shape[0], width - 2 * n)), matrix[:, 2 * n :]]
        constraints.append((sparse.hstack(parts), left, right))
        lower = np.append(lower, np.full(extra, 0.0 if kind == "choice" else -np.inf))
        upper = np.append(upper, np.full(extra, 1.0 if kind == "choice" else np.inf))
        cost, integrality = np.append(cost, np.zeros(extra)), np.append(integrality, np.ones(extra))
    options = {"mip_rel_gap": 1e-9} if integrality.any() else {}
    if integrality.any() and np.isfinite(deadline.left):
        options["time_limit"] = max(deadline.left, 1e-3)
    done = milp(
        cost,
        integrality=integrality if integrality.any() else None,
        bounds=Bounds(lower, upper),
        constraints=[LinearConstraint(A, a, b) for A, a, b in constraints],
        options=options,
    )
    if done.status == STOPPED:
        raise OutOfTime
    if done.x is None or not done.success:
        return None
    return (done.x[:n] - done.x[n : 2 * n]) * unit


def _widen(A, extra: int):
    return sparse.hstack([A, sparse.csr_array((A.shape[0], extra))])


def _discrete_blocks(row) -> list[tuple]:
    """Equations between p, q and new integer variables: (matrix, left, right, kind)."""
    n = len(row.low)
    blocks = []
    for k, unit in row.stepped:
        equation = np.zeros((1, 2 * n + 1))
        equation[0, k], equation[0, n + k], equation[0, -1] = 1.0, -1.0, -unit
        blocks.append((sparse.csr_array(equation), np.zeros(1), np.zeros(1), "step"))
    for at, values in row.choices:
        equation = np.zeros((len(at) + 1, 2 * n + len(values)))
        equation[np.arange(len(at)), at], equation[np.arange(len(at)), n + at] = 1.0, -1.0
        equation[:-1, 2 * n :] = -values.T
        equation[-1, 2 * n :] = 1.0
        right = np.zeros(len(at) + 1)
        right[-1] = 1.0
        blocks.append((sparse.csr_array(equation), right, right, "choice"))
    return blocks


@dataclass(frozen=True)
class Outcome:
    """The nearest row that a search found, None if there is none, and a bound that no distance can be below."""

    z: np.ndarray | None
    distance: float
    bound: float


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
