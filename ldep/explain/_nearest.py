"""The nearest row of a class.

Under one member with one maximum per class it is the best of one projection per region, with the hopeless ones skipped.
Under other signs, and under members that vote, it is found by branch and bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ldep.explain._branch_and_bound import RowSearch
from ldep.explain._contest import Contest
from ldep.explain._domain import DUAL_NORMS, Domain
from ldep.explain._least_distance import Deadline, OutOfTime
from ldep.explain._projection import Outcome, Row
from ldep.explain._regions import Regions
from ldep.explain._relaxation import Pieces, Votes, pad_maxima
from ldep.model import FittedModel


class SingleSearch:
    """Finds the nearest row of the target class under one member with one maximum per class.

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


class SignedSearch:
    """Finds the nearest row of the target class under signed sums of maxima, and votes of them."""

    def __init__(self, model: FittedModel, target: int, domain: Domain, time_limit: float):
        self.members, self.domain, self.time_limit = model.members, domain, time_limit
        self.free = np.flatnonzero(~domain.frozen)
        scale = domain.scale[self.free]
        slopes = [[w[:, self.free] * scale for w in member.slopes] for member in model.members]
        boxed = domain.discrete or len(self.free) <= MOST_BOXED
        self.pieces = Pieces.of(slopes, DUAL_NORMS[domain.norm], boxed)
        contest = Contest.of(model, target)
        steepness = contest.steepness(self.pieces.sizes(contest))
        if not model.votes:
            # Scores have any size; what they lack is measured as a distance.
            units = np.where(steepness > 0, steepness, 1.0)
            contest, steepness = contest.in_units(units), steepness / units
        self.contest, self.steepness = contest, steepness

    def around(self, x: np.ndarray, deadline: Deadline, margin: float = 0.0) -> RowSearch:
        """The search around one row. With a margin, the votes must exceed what is required by it."""
        values = pad_maxima([[value[0] for value in member.values(x[None])] for member in self.members])[0]
        contest = replace(self.contest, required=self.contest.required + margin)
        return RowSearch(Row.of(x, self.domain), Votes(self.pieces, values, contest), self.steepness, deadline)

    def inside(self, x: np.ndarray, z: np.ndarray, margin: float) -> np.ndarray | None:
        """The nearest row whose votes exceed what is required by the margin, with the pieces that are active at z."""
        search = self.around(x, Deadline.after(self.time_limit), margin)
        search.descend((z - x)[self.free] / self.domain.scale[self.free], lowest=True)
        return search.best


def race(searches: Mapping[int, SignedSearch], x: np.ndarray, time_limit: float) -> dict[int, Outcome]:
    """The nearest row of each of some classes, where only the nearest of all counts.

    The class with the nearest row that is easily found comes first. The others are searched up to the distance of the
    best, and have no row if it is not nearer.
    """
    deadline = Deadline.after(time_limit)
    around = {target: search.around(x, deadline) for target, search in searches.items()}
    for search in around.values():
        search.approach()
    best, outcomes = np.inf, {}
    for place, target in enumerate(sorted(around, key=lambda target: around[target].distance)):
        around[target].deadline = Deadline.after(deadline.left / (len(around) - place))
        outcomes[target] = around[target].prove(best)
        best = min(best, outcomes[target].distance)
    return outcomes
