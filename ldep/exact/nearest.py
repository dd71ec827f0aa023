"""The nearest row of a class under one model: the best of one projection per region, with the hopeless ones skipped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldep.exact.deadline import Deadline, OutOfTime
from ldep.exact.domain import Domain
from ldep.exact.models import Maxima
from ldep.exact.projection import Row
from ldep.exact.regions import Regions


@dataclass(frozen=True)
class Outcome:
    """The nearest row that a search found, None if there is none, and a bound that no distance can be below."""

    z: np.ndarray | None
    distance: float
    bound: float


class SingleSearch:
    """Finds the nearest row of the target class under one model.

    Parameters
    ----------
    model : Maxima
        The model.
    target : int
        Number of the class.
    domain : Domain
        The allowed rows.
    time_limit : float
        Seconds per row, if the domain has integer features or choices. Without them a row takes milliseconds.
    """

    def __init__(self, model: Maxima, target: int, domain: Domain, time_limit: float):
        self.domain, self.time_limit = domain, time_limit
        self.regions = Regions.of(model, target)
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
