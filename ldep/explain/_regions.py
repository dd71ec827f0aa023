"""The regions of a class: the class k is predicted where one of its pieces is above all pieces of all other classes.

Under one member with one maximum per class, the nearest row of a class is the best of one projection per region, with
the hopeless ones skipped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from ldep.explain._domain import Domain
from ldep.explain._least_distance import Deadline, OutOfTime
from ldep.explain._projection import Outcome, Row
from ldep.model import FittedModel, Maxima


def has_regions(model: FittedModel) -> bool:
    """Whether a class is predicted in a union of a few polyhedra: one member, and one maximum per class."""
    return not model.votes and np.array_equal(model.members[0].signs, np.eye(model.n_classes))


@dataclass(frozen=True)
class Regions:
    """The polyhedra of one class, one per piece: differences[i, j] . (z - center) + offsets[i, j] >= 0 for all j.

    The differences, of shape (n_pieces, n_others, n_features), are the slopes of each piece of the class minus those of
    each piece of the others.
    """

    differences: np.ndarray
    offsets: np.ndarray
    center: np.ndarray

    @classmethod
    def of(cls, model: Maxima, target: int) -> Regions:
        others = [k for k in range(model.n_classes) if k != target]
        slopes = np.vstack([model.slopes[k] for k in others])
        offsets = np.concatenate([model.offsets[k] for k in others])
        return cls(model.slopes[target][:, None] - slopes, model.offsets[target][:, None] - offsets, model.center)

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


# Tolerance of HiGHS for constraints, with some room.
TOLERANCE = 1e-6


def needed_pieces(slopes: np.ndarray, offsets: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Mask of the pieces that the maximum of slopes . x + offsets needs in the box low <= x <= high.

    A piece is dropped if another one is equal to it, or if it is nowhere the largest. Pieces are dropped one after the
    other, each compared with those that are left, so that the maximum stays the same function in the box.
    """
    table = np.column_stack([slopes, offsets])
    needed = np.zeros(len(table), dtype=bool)
    needed[np.unique(table, axis=0, return_index=True)[1]] = True
    for piece in np.flatnonzero(needed):
        others = needed.copy()
        others[piece] = False
        if others.any():
            A, b = slopes[piece] - slopes[others], offsets[piece] - offsets[others]
            needed[piece] = largest_slack(A, b, low, high) > -TOLERANCE
    return needed


def needed_conditions(A: np.ndarray, b: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """Mask of the conditions A x + b >= 0 that the others do not imply in the box; None if they exclude each other."""
    if largest_slack(A, b, low, high) < -TOLERANCE:
        return None
    needed = np.zeros(len(b), dtype=bool)
    needed[np.unique(np.column_stack([A, b]), axis=0, return_index=True)[1]] = True
    for condition in np.flatnonzero(needed):
        others = needed.copy()
        others[condition] = False
        needed[condition] = _smallest(A[condition], b[condition], A[others], b[others], low, high) < TOLERANCE
    return needed


def largest_slack(A: np.ndarray, b: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """The largest t <= 1 for which some x in the box has A x + b >= t |A| in every row."""
    size = np.maximum(np.linalg.norm(A, axis=1), 1e-12 * (1.0 + np.abs(b)))
    A, b = A / size[:, None], b / size
    n = A.shape[1]
    rows = LinearConstraint(np.column_stack([A, -np.ones(len(A))]), -b, np.inf)
    cost = np.append(np.zeros(n), -1.0)
    done = milp(cost, constraints=rows, bounds=Bounds(np.append(low, -np.inf), np.append(high, 1.0)))
    return float(done.x[-1]) if done.x is not None else 1.0


def _smallest(a, offset: float, A, b, low, high) -> float:
    """The smallest value of a . x + offset, in units of |a|, where A x + b >= 0 in the box, but at least -1."""
    size = max(float(np.linalg.norm(a)), 1e-300)
    n = len(a)
    rows = [LinearConstraint(np.append(-a / size, 1.0)[None], offset / size, np.inf)]
    if len(A):
        norms = np.maximum(np.linalg.norm(A, axis=1), 1e-300)
        rows.append(LinearConstraint(np.column_stack([A / norms[:, None], np.zeros(len(A))]), -b / norms, np.inf))
    cost = np.append(np.zeros(n), 1.0)
    done = milp(cost, constraints=rows, bounds=Bounds(np.append(low, -1.0), np.append(high, np.inf)))
    return float(done.x[-1]) if done.x is not None else -1.0


def box_of(X: np.ndarray | None, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """The smallest box that contains the rows; the whole space without rows."""
    if X is None:
        return np.full(n_features, -np.inf), np.full(n_features, np.inf)
    return X.min(axis=0), X.max(axis=0)


def without_dead_pieces(maxima: Maxima, low: np.ndarray, high: np.ndarray) -> Maxima:
    """The same functions in the box, from the pieces that they need."""
    low, high = low - maxima.center, high - maxima.center
    needed = [needed_pieces(w, c, low, high) for w, c in zip(maxima.slopes, maxima.offsets)]
    slopes, offsets, intercepts = (
        [part[mask] for part, mask in zip(parts, needed)]
        for parts in (maxima.slopes, maxima.offsets, maxima.intercepts)
    )
    return replace(maxima, slopes=slopes, offsets=offsets, intercepts=intercepts)


def simplified(model: FittedModel, X: np.ndarray | None) -> FittedModel:
    """The same decision values in the smallest box that contains the rows, without the dead pieces of any member."""
    box = box_of(X, model.n_features)
    return replace(model, members=[without_dead_pieces(member, *box) for member in model.members])


class SingleSearch:
    """Finds the nearest row of the target class under one member with one maximum per class.

    The class leads each other one by its margin. The time limit matters only if the domain has discrete features or a
    limit of changes. Without them a row takes milliseconds.
    """

    def __init__(self, model: FittedModel, target: int, domain: Domain, time_limit: float, margins=0.0):
        self.domain, self.time_limit = domain, time_limit
        maxima = model.maxima()
        regions = Regions.of(maxima, target)
        sizes = [len(offsets) for k, offsets in enumerate(maxima.offsets) if k != target]
        self.regions = replace(
            regions, offsets=regions.offsets - np.repeat(np.broadcast_to(margins, len(sizes)), sizes)
        )
        self.slope = domain.dual_norm(self.regions.differences)

    def nearest(self, X: np.ndarray) -> list[Outcome]:
        """The nearest row in the closed regions in which the class leads by the margins, for each row of X."""
        shortfall, bounds = self.regions.lower_bounds(X, self.domain)
        return [self._nearest(*values) for values in zip(X, shortfall, bounds)]

    def inside(self, x: np.ndarray, z: np.ndarray, margin: float) -> np.ndarray | None:
        """The nearest row at this distance from the borders of the regions."""
        shortfall, bounds = self.regions.lower_bounds(x[None], self.domain)
        return self._nearest(x, shortfall[0] + margin * self.slope, bounds[0]).z

    def _nearest(self, x: np.ndarray, shortfall: np.ndarray, bounds: np.ndarray) -> Outcome:
        row = Row.of(x, self.domain)
        deadline = Deadline.after(self.time_limit) if self.domain.discrete else Deadline()
        best, length = None, np.inf
        for i in np.argsort(bounds):
            if bounds[i] >= length:
                break
            G, h = row.rows(self.regions.differences[i]), shortfall[i]
            u = self._shortcut(row, G, h)
            if u is None:
                try:
                    deadline.check()
                    u = row.nearest(G, h, length, deadline)
                except OutOfTime:
                    # The regions that are left are not nearer than this one can be.
                    return Outcome(best, length, min(length, float(bounds[i])))
            if u is None:
                continue
            z = row.point(u)
            distance = float(self.domain.distance(z, x))
            if distance < length:
                best, length = z, distance
        return Outcome(best, length, length)

    def _shortcut(self, row: Row, G: np.ndarray, h: np.ndarray) -> np.ndarray | None:
        """The nearest point of the farthest half-space, if it is in the region and allowed: then it is the answer.

        It saves most of the linear programs. L2 does not need it.
        """
        if self.domain.norm == "l2" or self.domain.discrete:
            return None
        u = np.zeros(G.shape[1])
        size = np.abs(G).max(axis=1) if self.domain.norm == "l1" else np.abs(G).sum(axis=1)
        if (size == 0).any():
            return None
        j = int((h / size).argmax())
        if h[j] > 0 and self.domain.norm == "l1":
            f = int(np.abs(G[j]).argmax())
            u[f] = h[j] / G[j, f]
        elif h[j] > 0:
            u = np.sign(G[j]) * h[j] / size[j]
        allowed = (u >= row.low).all() and (u <= row.high).all() and (row.G @ u >= row.h).all()
        holds = (G @ u >= h - 1e-12 * (np.abs(h) + np.abs(G) @ np.abs(u))).all()
        return u if allowed and holds else None
