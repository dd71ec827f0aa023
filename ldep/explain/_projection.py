"""The allowed point of a polyhedron that is nearest to a row, exactly.

A polyhedron is {z : A z >= b}. All programs are written in u = (z - x) / scale of the features that may change, so that
the distance is a plain norm of u:

    minimise |u|  subject to  G u >= h  and  low <= u <= high.

For L2 it is a least-distance problem. For L1 and Linf it is a linear program. Integer features and categories are
branched on for L2, and make a mixed-integer program for L1 and Linf.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from ldep.explain._domain import DUAL_NORMS, NORMS, Choice, Domain
from ldep.explain._least_distance import WHOLE, Box, Deadline, OutOfTime, nearest_discrete, nearest_l2, projected

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
    `stepped` has the coordinates of the integer features with the length of one step. The linear constraints of the
    domain are G u >= h. `columns` has the coordinates of each column that counts as one change.
    """

    x: np.ndarray
    domain: Domain
    free: np.ndarray
    low: np.ndarray
    high: np.ndarray
    choices: list[tuple[np.ndarray, np.ndarray]]
    stepped: list[tuple[int, float]]
    G: np.ndarray
    h: np.ndarray
    columns: list[np.ndarray]

    @classmethod
    def of(cls, x: np.ndarray, domain: Domain) -> Row:
        free = np.flatnonzero(~domain.frozen)
        scale = domain.scale[free]
        low, high = ((side[free] - x[free]) / scale for side in domain.sides(x))
        place = {column: k for k, column in enumerate(free)}
        choices = []
        for choice in domain.choices:
            columns = np.array([column for column in choice.columns if column in place], dtype=int)
            if len(columns):
                values = (_allowed_rows(x, domain, choice) - x[columns]) / domain.scale[columns]
                at = np.array([place[column] for column in columns])
                inside = (values >= low[at] - SLACK) & (values <= high[at] + SLACK)
                values = values[inside.all(axis=1)]
                low[at] = np.maximum(low[at], values.min(axis=0, initial=np.inf))
                high[at] = np.minimum(high[at], values.max(axis=0, initial=-np.inf))
                choices.append((at, values))
        stepped = [
            (place[column], domain.steps[column] / domain.scale[column])
            for column in np.flatnonzero((domain.steps > 0) & ~domain.frozen)
        ]
        G, h = np.zeros((0, len(free))), np.zeros(0)
        if domain.linear is not None:
            G, h = -domain.linear.matrix[:, free] * scale, domain.linear.matrix @ x - domain.linear.limits
        coordinates = [[place[column] for column in one if column in place] for one in domain.columns]
        counted = [np.array(at) for at in coordinates if at]
        return cls(x, domain, free, low, high, choices, stepped, G, h, counted)

    @property
    def max_changes(self) -> int | None:
        return self.domain.max_changes

    @property
    def box(self) -> Box:
        """The box of all allowed rows."""
        return Box(self.low, self.high)

    def length(self, u: np.ndarray) -> float:
        return float(np.linalg.norm(u, ord=NORMS[self.domain.norm]))

    def limited(self, G: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same inequalities, and the linear constraints of the domain."""
        return (np.vstack([G, self.G]), np.append(h, self.h)) if len(self.h) else (G, h)

    def sparse_bound(self, G: np.ndarray, h: np.ndarray, box: Box) -> float:
        """A length that every u of the box has at least that changes no more columns than may, and has G u >= h.

        It is that of each inequality alone, which the columns with the largest slopes fulfil best, with all features
        that follow from others.
        """
        if self.max_changes is None:
            return 0.0
        G, h = self.limited(G, h)
        G, h = G[h > 0], h[h > 0]
        if not len(h):
            return 0.0
        G = np.where((box.low < 0) | (box.high > 0), G, 0.0)
        order = DUAL_NORMS[self.domain.norm]
        sizes = np.column_stack([np.linalg.norm(G[:, at], ord=order, axis=1) for at in self.columns])
        levers = list(box.levers)
        follows = np.ones(G.shape[1], dtype=bool)
        follows[np.concatenate(self.columns)] = False
        own = np.column_stack([sizes[:, levers], np.linalg.norm(G[:, follows], ord=order, axis=1)])
        sizes[:, levers] = 0.0
        best = -np.sort(-sizes, axis=1)[:, : self.max_changes - len(levers)]
        slope = np.linalg.norm(np.column_stack([own, best]), ord=order, axis=1)
        with np.errstate(divide="ignore"):
            return float((h / slope).max())

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
        outside = self.domain.continuous
        low, high = self.domain.sides(self.x)
        z[outside] = np.clip(z[outside], low[outside], high[outside])
        return z

    def nearest(self, G: np.ndarray, h: np.ndarray, cutoff: float, deadline: Deadline) -> np.ndarray | None:
        """The nearest u with G u >= h in the domain; None if there is none, or none nearer than the cutoff."""
        if self.box.empty:
            return None
        if self.max_changes is not None or (self.domain.norm == "l2" and self.domain.discrete):
            return nearest_discrete(self, G, h, cutoff, deadline)
        G, h = self.limited(G, h)
        if self.domain.norm != "l2":
            return nearest_by_program(self, G, h, deadline)
        return nearest_l2(G, h, self.low, self.high)

    def relaxed(self, G: np.ndarray, h: np.ndarray, box: Box) -> Relaxed | None:
        """The nearest u with G u >= h in a box, whether what is branched on is allowed or not, and a bound if it is."""
        if box.empty:
            return None
        if self.domain.norm != "l2":
            G, h = self.limited(G, h)
            inside = replace(self, low=box.low, high=box.high, choices=[], stepped=[])
            u = nearest_by_program(inside, G, h, Deadline())
            return None if u is None else Relaxed(u, max(self.length(u), self.sparse_bound(G, h, box)))
        G, h = self.limited(G, h)
        projection = projected(G, h, box.low, box.high)
        if projection is None:
            return None
        lower = self.length(projection.u)
        if self.domain.discrete and all(len(values) for _, values in self.choices):
            lower = max(lower, self.sparse_bound(G, h, box), self.dual_bound(G, h, box, projection.multipliers))
        return Relaxed(projection.u, lower)

    @cached_property
    def table(self) -> ChoiceTable:
        """The values of all choices."""
        n, sizes = len(self.low), [len(values) for _, values in self.choices]
        values, owned = np.zeros((sum(sizes), n)), np.zeros((sum(sizes), n), dtype=bool)
        starts = np.cumsum([0, *sizes[:-1]])
        for start, (at, own) in zip(starts, self.choices):
            rows = slice(start, start + len(own))
            values[rows, at], owned[rows, at] = own, True
        leading = np.array([at[0] for at, _ in self.choices])
        every = np.concatenate([at for at, _ in self.choices])
        return ChoiceTable(values, owned, (values**2).sum(axis=1), starts, leading, every)

    def dual_bound(self, G: np.ndarray, h: np.ndarray, box: Box, multipliers: np.ndarray) -> float:
        """A length that every allowed u of the box has at least, from the Lagrangian dual.

        With the weighted sum g . u >= s of the inequalities, the least of |u|^2 + t (s - g . u) over the allowed u is a
        bound for every t >= 0. It splits into the columns: each choice takes its best value, and of the columns that
        may change the best ones do. Half of a choice has no place in it, unlike in the relaxation.
        """
        g, s, t = multipliers @ G, float(multipliers @ h), TILTS[:, None]
        if s <= 0:
            return 0.0
        best = np.clip(t * g / 2.0, box.low, box.high)
        for k, unit in self.stepped:
            ends = np.ceil(box.low[k] / unit - WHOLE) * unit, np.floor(box.high[k] / unit + WHOLE) * unit
            best[:, k] = np.clip(np.rint(best[:, k] / unit) * unit, *ends)
        costs = best * (best - t * g)
        if self.choices:
            table = self.table
            outside = (table.values < box.low - WHOLE) | (table.values > box.high + WHOLE)
            of_values = table.squares - t * (table.values @ g)
            of_values[:, (outside & table.owned).any(axis=1)] = np.inf
            costs[:, table.at] = 0.0
            costs[:, table.leading] = np.minimum.reduceat(of_values, table.starts, axis=1)
        total = costs.sum(axis=1)
        if self.max_changes is not None:
            by_column = np.column_stack([costs[:, at].sum(axis=1) for at in self.columns])
            changes = (box.low > 0) | (box.high < 0)
            must = np.array([changes[at].any() for at in self.columns], dtype=bool)
            must[list(box.levers)] = True
            spared = np.sort(by_column[:, ~must], axis=1)[:, max(self.max_changes - int(must.sum()), 0) :]
            total = total - spared.sum(axis=1)
        return float(np.sqrt(max((TILTS * s + total).max(), 0.0)))


class ChoiceTable(NamedTuple):
    """The values of all choices, one per row, in all coordinates.

    `owned` marks the coordinates of a row's choice, `squares` has the squared lengths, `starts` where the values of
    each choice begin, `leading` the first coordinate of each choice, and `at` those of all.
    """

    values: np.ndarray
    owned: np.ndarray
    squares: np.ndarray
    starts: np.ndarray
    leading: np.ndarray
    at: np.ndarray


class Relaxed(NamedTuple):
    """The nearest point of a relaxation, and a bound of the distance of every allowed point."""

    u: np.ndarray
    lower: float


# The multiples of the multipliers of a projection that are tried for the dual bound.
TILTS = np.linspace(0.6, 3.0, 13)


# What rounding may cost a value of a choice at its bound.
SLACK = 1e-9


def _allowed_rows(x: np.ndarray, domain: Domain, choice: Choice) -> np.ndarray:
    """What the columns that can change can be, where the frozen columns of a choice are as in the row."""
    frozen = domain.frozen[choice.columns]
    same = np.isclose(choice.table[:, frozen], x[choice.columns[frozen]], rtol=1e-6, atol=1e-6).all(axis=1)
    return choice.table[same][:, ~frozen]
