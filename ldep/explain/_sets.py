"""Prediction sets of rows, and those that hold for every row in a ball around them.

A class is in the set of a row if its score is at most its limit (`ldep.model._sets`): if it wins with the limit as a
bonus. So the classes of all sets in a ball are those that win somewhere in it with their bonus, which the search for
the nearest row decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldep.explain._counterfactual import SignedSearch
from ldep.explain._domain import Domain
from ldep.explain._least_distance import Deadline
from ldep.explain._regions import SingleSearch, has_regions
from ldep.model import FittedModel

# By how much, as a share, the ball is larger than it has to be, so that rounding cannot leave a class out.
ROUNDING = 1e-7


@dataclass(frozen=True)
class PredictionSets:
    """The classes that each row may have.

    Attributes
    ----------
    contains : ndarray of shape (n_samples, n_classes)
        Whether the set of each row contains each class.
    classes : ndarray of shape (n_classes,)
        The classes.
    coverage : float
        The share of the rows whose set is to contain their class.
    exact : ndarray of shape (n_samples,)
        Whether no class could be left out of the set. False where the time limit left open whether the ball around the
        row reaches a class: the set then contains the class, so that it is valid, and may be too large.
    """

    contains: np.ndarray
    classes: np.ndarray
    coverage: float
    exact: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Number of classes in each set."""
        return self.contains.sum(axis=1)

    @property
    def labels(self) -> list[list]:
        """The classes in each set."""
        return [self.classes[row].tolist() for row in self.contains]

    def covers(self, y) -> np.ndarray:
        """Whether each set contains the class of its row."""
        return (self.contains & (np.asarray(y)[:, None] == self.classes)).any(axis=1)

    def __len__(self) -> int:
        return len(self.contains)

    def __str__(self) -> str:
        lines = []
        for number, (labels, exact) in enumerate(zip(self.labels, self.exact)):
            open_text = "" if exact else " (time limit: it may be too large)"
            lines.append(f"row {number}: {', '.join(map(str, labels)) or 'no class'}{open_text}")
        return "\n".join(lines)


def sets_in_ball(
    model: FittedModel,
    X: np.ndarray,
    contains: np.ndarray,
    limits: np.ndarray,
    domain: Domain,
    radius: float,
    time_limit: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The classes that are in the set of some row within a radius of each row, and whether the answers are exact.

    `contains` has the sets of the rows themselves, and `limits` the limit of each class. The time limit is per row.
    """
    contains, exact = contains.copy(), np.ones(len(X), dtype=bool)
    radius = radius * (1.0 + ROUNDING)
    targets = np.flatnonzero(~contains.all(axis=0)).tolist()
    favoured = {target: _with_bonus(model, target, float(limits[target])) for target in targets}
    if len(model.members) == 1 and all(map(has_regions, favoured.values())):
        for target, changed in favoured.items():
            rows = np.flatnonzero(~contains[:, target])
            outcomes = SingleSearch(changed, target, domain, time_limit).nearest(X[rows])
            contains[rows, target] = [outcome.bound <= radius for outcome in outcomes]
        return contains, exact
    searches = {target: SignedSearch(changed, target, domain, time_limit) for target, changed in favoured.items()}
    for row, x in enumerate(X):
        deadline, absent = Deadline.after(time_limit), np.flatnonzero(~contains[row]).tolist()
        for place, target in enumerate(absent):
            part = Deadline.after(deadline.left / (len(absent) - place))
            reached = searches[target].around(x, part).reaches(radius)
            contains[row, target] = reached is not False
            exact[row] &= reached is not None
    return contains, exact


def _with_bonus(model: FittedModel, target: int, bonus: float) -> FittedModel:
    """The model of the mean scores, under which the target wins where its score is at most the bonus."""
    thresholds = np.zeros(model.n_classes)
    thresholds[target] = -bonus
    return FittedModel(model.members, model.weights, False, thresholds)
