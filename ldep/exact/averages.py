"""The nearest row of a class under an average of models."""

from __future__ import annotations

import numpy as np

from ldep.exact.branch_and_bound import RowSearch
from ldep.exact.domain import Domain
from ldep.exact.models import Average
from ldep.exact.nearest import Outcome
from ldep.exact.projection import Row
from ldep.exact.relaxation import Members, Votes, padded_values

# With more features than this, a box bounds hardly anything that a ball does not.
MOST_BOXED = 8


class AverageSearch:
    """Finds the nearest row of the target class under an average of models of two classes.

    Parameters
    ----------
    model : Average
        The average.
    target : int
        0 or 1, the number of the class.
    domain : Domain
        The allowed rows.
    time_limit : float
        Seconds per row.
    """

    def __init__(self, model: Average, target: int, domain: Domain, time_limit: float):
        self.model, self.target, self.domain, self.time_limit = model, target, domain, time_limit
        self.threshold = model.threshold if target == 1 else -model.threshold
        self.free = np.flatnonzero(~domain.frozen)
        scale = domain.scale[self.free]
        order = {"l2": 2, "l1": np.inf, "linf": 1}[domain.norm]

        def norm(slopes: np.ndarray) -> np.ndarray:
            return np.linalg.norm(slopes, ord=order, axis=-1)

        P, Q = ([member.slopes[k][:, self.free] * scale for member in model.members] for k in (target, 1 - target))
        boxed = domain.discrete or len(self.free) <= MOST_BOXED
        self.members = Members.of(P, Q, 1.0 if model.clipped else np.inf, norm, boxed)

    def nearest(self, X: np.ndarray) -> list[Outcome]:
        """The nearest row for each row of X: proven, or the best that was found in time."""
        return [self._search(x, 0.0).run() for x in X]

    def inside(self, x: np.ndarray, z: np.ndarray, margin: float) -> np.ndarray | None:
        """The nearest row whose votes exceed the threshold by the margin, with the pieces that are active at z."""
        search = self._search(x, margin)
        search.descend((z - x)[self.free] / self.domain.scale[self.free], lowest=self.model.clipped)
        return search.best

    def _search(self, x: np.ndarray, margin: float) -> RowSearch:
        scores = [member.scores(x[None]) for member in self.model.members]
        p, q = (padded_values([score[k][0] for score in scores]) for k in (self.target, 1 - self.target))
        votes = Votes(self.members, p, q)
        return RowSearch(Row.of(x, self.domain), votes, self.model.weights, self.threshold + margin, self.time_limit)
