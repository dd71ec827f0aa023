"""The nearest row of a class.

Under one member it is the best of one projection per region, with the hopeless ones skipped. Under members that vote it
is found by branch and bound.
"""

from __future__ import annotations

import numpy as np

from ldep.explain._branch_and_bound import RowSearch
from ldep.explain._domain import DUAL_NORMS, Domain
from ldep.explain._least_distance import Deadline, OutOfTime
from ldep.explain._projection import Outcome, Row
from ldep.explain._regions import Regions
from ldep.explain._relaxation import Members, Votes, padded
from ldep.model import FittedModel


class SingleSearch:
    """Finds the nearest row of the target class under a model with one member.

    The time limit matters only if the domain has integer features or choices. Without them a row takes milliseconds.
    """

    def __init__(self, model: FittedModel, target: int, domain: Domain, time_limit: float):
        self.domain, self.time_limit = domain, time_limit
        self.regions = Regions.of(model.maxima(), target)
        self.slope = domain.dual_norm(self.regions.differences)

    def nearest(self, X: np.ndarray) -> list[Outcome]:
        """The nearest row in the closed regions, for each row of X."""
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
        allowed = (u >= row.low).all() and (u <= row.high).all()
        holds = (G @ u >= h - 1e-12 * (np.abs(h) + np.abs(G) @ np.abs(u))).all()
        return u if allowed and holds else None


# With more features than this, a box bounds hardly anything that a ball does not.
MOST_BOXED = 8


class AverageSearch:
    """Finds the nearest row of the target class, 0 or 1, under members of two classes that vote."""

    def __init__(self, model: FittedModel, target: int, domain: Domain, time_limit: float):
        self.model, self.target, self.domain, self.time_limit = model, target, domain, time_limit
        self.threshold = model.threshold if target == 1 else -model.threshold
        self.free = np.flatnonzero(~domain.frozen)
        scale = domain.scale[self.free]

        def norm(slopes: np.ndarray) -> np.ndarray:
            return np.linalg.norm(slopes, ord=DUAL_NORMS[domain.norm], axis=-1)

        P, Q = ([member.slopes[k][:, self.free] * scale for member in model.members] for k in (target, 1 - target))
        boxed = domain.discrete or len(self.free) <= MOST_BOXED
        self.members = Members.of(P, Q, norm, boxed)

    def nearest(self, X: np.ndarray) -> list[Outcome]:
        """The nearest row for each row of X: proven, or the best that was found in time."""
        return [self._search(x, 0.0).run() for x in X]

    def inside(self, x: np.ndarray, z: np.ndarray, margin: float) -> np.ndarray | None:
        """The nearest row whose votes exceed the threshold by the margin, with the pieces that are active at z."""
        search = self._search(x, margin)
        search.descend((z - x)[self.free] / self.domain.scale[self.free], lowest=True)
        return search.best

    def _search(self, x: np.ndarray, margin: float) -> RowSearch:
        scores = [member.values(x[None]) for member in self.model.members]
        p, q = (padded([score[k][0] for score in scores])[0] for k in (self.target, 1 - self.target))
        votes = Votes(self.members, p, q)
        return RowSearch(Row.of(x, self.domain), votes, self.model.weights, self.threshold + margin, self.time_limit)
