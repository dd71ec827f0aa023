"""The nearest row of another class, and the radius within which there is none.

Under one member with one maximum per class the regions of the class have it. Under other signs, and under members that
vote, it is found by branch and bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ldep.explain._branch_and_bound import RowSearch
from ldep.explain._contest import Contest
from ldep.explain._demand import PARTS, Demand
from ldep.explain._domain import DUAL_NORMS, Domain
from ldep.explain._least_distance import Deadline, rounded_box
from ldep.explain._projection import Outcome, Row
from ldep.explain._regions import SingleSearch, has_regions
from ldep.explain._relaxation import Pieces, Votes, pad_maxima
from ldep.model import FittedModel, Link, class_numbers, lead

# Shares of the way by which an answer on the border of its class is moved on until `predict` agrees.
HAIRS = 10.0 ** np.arange(-15, -6)
# Distances from the border, in shares of the distance, that are demanded if moving on did not help.
MARGINS = 10.0 ** np.arange(-9, -2)
# Share of a radius that rounding may cost.
ROUNDING = 1e-12


# With more features than this, a box bounds hardly anything that a ball does not.
MOST_BOXED = 8


class SignedSearch:
    """Finds the nearest row of the target class under signed sums of maxima, and votes of them.

    The class leads each other one by its margin.
    """

    def __init__(self, model: FittedModel, target: int, domain: Domain, time_limit: float, margins=0.0):
        self.members, self.domain, self.time_limit = model.members, domain, time_limit
        self.free = np.flatnonzero(~domain.frozen)
        scale = domain.scale[self.free]
        slopes = [[w[:, self.free] * scale for w in member.slopes] for member in model.members]
        boxed = domain.discrete or len(self.free) <= MOST_BOXED
        self.pieces = Pieces.of(slopes, DUAL_NORMS[domain.norm], boxed)
        contest = Contest.of(model, target)
        contest = replace(contest, required=contest.required + margins)
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
        u = (z - x)[self.free] / self.domain.scale[self.free]
        for box in (rounded_box(search.row, search.whole(), u), search.whole()):
            search.descend(u, lowest=True, box=box)
            if search.best is not None:
                break
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


class Question(NamedTuple):
    """What is asked about rows.

    `decide` returns the decision values as the predictions have them. The time limit, in seconds per row, is for
    averages of models, integer features and choices. An answer leads each other class by the margin, and has at least
    the probability, where `link` gives probabilities.
    """

    model: FittedModel
    decide: Callable[[np.ndarray], np.ndarray]
    classes: np.ndarray
    domain: Domain
    time_limit: float
    margin: float = 0.0
    probability: float | None = None
    link: Link | None = None

    def demanding(self, margin: float, probability: float | None, link: Link | None) -> Question:
        """The same question, where the class must lead by a margin or have a probability."""
        if not (np.isfinite(margin) and margin >= 0):
            raise ValueError(f"margin={margin} must be a number that is not negative.")
        if probability is None:
            return self._replace(margin=float(margin))
        if margin:
            raise ValueError("margin and probability ask for the same in two ways: leave one of them out.")
        if not 0 < probability < 1:
            raise ValueError(f"probability={probability} must be above 0 and below 1.")
        if link is None:
            raise ValueError("The model has no probabilities, so that none can be asked for: ask for a margin.")
        return self._replace(probability=float(probability), link=link)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The number of the predicted class of each row."""
        return class_numbers(self.decide(X))

    def surely(self, X: np.ndarray, target: int) -> np.ndarray:
        """Whether each row has the target class and what is asked of it, however its scores are rounded."""
        decision = self.decide(X)
        others = [lead(decision, target, k) for k in range(len(self.classes)) if k != target]
        sure = np.min(others, axis=0) - self.margin > self.model.rounding(X)
        if self.probability is not None:
            assert self.link is not None
            model = replace(self.model, link=self.link)
            sure &= model.probabilities(decision)[:, target] >= self.probability
        return sure

    def search(self, target: int, part: float = 0.0) -> SingleSearch | SignedSearch:
        """The search for the nearest row of a class; for the parts see `ldep.explain._demand`."""
        demand = Demand.of(self.model, target, self.margin, self.probability, self.link, part)
        search = SingleSearch if has_regions(self.model) else SignedSearch
        return search(demand.model, target, self.domain, self.time_limit, demand.margins)


Answers = dict[int, tuple[np.ndarray, list[Outcome]]]


def outcomes_of(question: Question, X: np.ndarray, wanted: np.ndarray, part: float = 0.0) -> Answers:
    """For each class the rows that ask for it, and the nearest rows on the border of what is asked of the class.

    `wanted` says which classes each row asks for. Of several, only the nearest one counts.
    """
    asked = {target: np.flatnonzero(wanted[:, target]) for target in np.flatnonzero(wanted.any(axis=0)).tolist()}
    searches = {target: question.search(target, part) for target in asked}
    single = {target: search for target, search in searches.items() if isinstance(search, SingleSearch)}
    signed = {target: search for target, search in searches.items() if isinstance(search, SignedSearch)}
    found = {target: search.nearest(X[asked[target]]) for target, search in single.items()}
    found |= {target: [] for target in signed}
    for x, targets in zip(X, wanted if signed else []):
        entered = {target: signed[target] for target in np.flatnonzero(targets).tolist()}
        for target, outcome in race(entered, x, question.time_limit).items():
            found[target].append(outcome)
    return {target: (rows, found[target]) for target, rows in asked.items()}


def nearest_of(question: Question, X: np.ndarray, wanted: np.ndarray) -> Answers:
    """The same, a hair inside the class where its border is not enough."""
    answers: Answers = {}
    for target, (rows, outcomes) in outcomes_of(question, X, wanted).items():
        search = question.search(target)
        inside = _step_inside(question, X[rows], outcomes, target)
        answers[target] = rows, []
        for x, outcome, z in zip(X[rows], outcomes, inside):
            if outcome.z is not None and z is None:
                z = _demand_more(question, search, x, outcome, target)
            distance = np.inf if z is None else float(question.domain.distance(z, x))
            bound = outcome.bound if z is None else min(outcome.bound, distance)
            answers[target][1].append(Outcome(z, distance, bound))
    return answers


def _step_inside(question: Question, X: np.ndarray, outcomes: list[Outcome], target: int) -> list[np.ndarray | None]:
    """Move answers on along their way until the class is predicted; None where that does not help."""
    inside: list[np.ndarray | None] = [None] * len(X)
    found = [number for number, outcome in enumerate(outcomes) if outcome.z is not None]
    if not found:
        return inside
    domain, continuous = question.domain, question.domain.continuous
    # All steps of all rows are asked about in one call: `decide` may be slow for a single row.
    hairs = np.array([0.0, *HAIRS])[:, None, None]
    start, near = X[found], np.array([outcomes[number].z for number in found])
    Z = np.where(continuous, near + hairs * (near - start), near)
    low, high = domain.sides(start)
    Z = np.where(continuous, np.clip(Z, low, high), Z)
    table = Z.reshape(-1, Z.shape[-1])
    reached = (question.surely(table, target) & domain.holds(table)).reshape(Z.shape[:2])
    for place, number in enumerate(found):
        if reached[:, place].any():
            inside[number] = Z[int(reached[:, place].argmax()), place]
    return inside


def _demand_more(question: Question, search, x: np.ndarray, outcome: Outcome, target: int) -> np.ndarray | None:
    """Search again: for a lead that surely has the probability, or at a growing distance from the border."""
    if question.probability is not None and len(question.classes) > 2:
        wanted = np.arange(len(question.classes))[None] == target
        for part in PARTS:
            ((_, (harder,)),) = outcomes_of(question, x[None], wanted, part).values()
            (z,) = _step_inside(question, x[None], [harder], target)
            if z is not None:
                return z
    for margin in MARGINS * max(outcome.distance, 1e-3):
        z = search.inside(x, outcome.z, margin)
        if z is None:
            return None
        if question.surely(z[None], target)[0] and question.domain.holds(z[None])[0]:
            return z
    return None


def radii(question: Question, X: np.ndarray, wanted: np.ndarray | None = None) -> np.ndarray:
    """For each row a radius within which no allowed row has another class, or a wanted one."""
    smallest = np.full(len(X), np.inf)
    for rows, outcomes in outcomes_of(question, X, _others(question, X) if wanted is None else wanted).values():
        smallest[rows] = np.minimum(smallest[rows], [outcome.bound for outcome in outcomes])
    return smallest * (1.0 - ROUNDING)


def _others(question: Question, X: np.ndarray) -> np.ndarray:
    """Which classes each row does not have, one column per class."""
    return np.arange(len(question.classes)) != question.predict(X)[:, None]


def counterfactuals(question: Question, X: np.ndarray, targets: np.ndarray | None) -> tuple[np.ndarray, list[Outcome]]:
    """The class and the nearest row of each answer.

    `targets` has the number of the class to reach, one per row; None is the nearest of the other classes.
    """
    question.domain.check_rows(X)
    wanted = wanted_of(question, X, targets)
    reached, complete = best_of(question, X, wanted)
    if targets is not None:
        for row in np.flatnonzero(~wanted.any(axis=1)):
            reached[row], complete[row] = targets[row], Outcome(X[row], 0.0, 0.0)
    _refuse_impossible(question, X, reached, complete)
    return reached, complete


def wanted_of(question: Question, X: np.ndarray, targets: np.ndarray | None) -> np.ndarray:
    """Which classes each row asks for, one column per class: none if it has what is asked for."""
    if targets is None:
        return _others(question, X)
    has = question.predict(X) == targets
    for target in np.unique(targets).tolist():
        if question.margin > 0 or question.probability is not None:
            has[targets == target] &= question.surely(X[targets == target], target)
    return (np.arange(len(question.classes)) == targets[:, None]) & ~has[:, None]


def best_of(question: Question, X: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, list[Outcome]]:
    """The nearest row of any of the wanted classes, and which class it has; -1 where none is wanted."""
    reached = np.full(len(X), -1)
    best: list[Outcome | None] = [None] * len(X)
    for target, (rows, outcomes) in nearest_of(question, X, wanted).items():
        for row, outcome in zip(rows, outcomes):
            known = best[row]
            if known is None:
                reached[row], best[row] = target, outcome
                continue
            nearer = outcome if outcome.distance < known.distance else known
            reached[row] = target if nearer is outcome else reached[row]
            best[row] = Outcome(nearer.z, nearer.distance, min(known.bound, outcome.bound))
    return reached, [Outcome(None, np.inf, np.inf) if outcome is None else outcome for outcome in best]


def _refuse_impossible(question: Question, X: np.ndarray, reached: np.ndarray, outcomes: list[Outcome]) -> None:
    """Raise an error if it does not depend on the row that there is no answer."""
    missing = [row for row, outcome in enumerate(outcomes) if outcome.z is None and np.isinf(outcome.bound)]
    if not missing:
        return
    row, domain = missing[0], question.domain
    target = question.classes.tolist()[reached[row]] if reached[row] >= 0 else None
    wanted = np.arange(len(question.classes))[None] == reached[row]

    def exists(allowed: Domain) -> bool:
        plain = question._replace(domain=allowed, margin=0.0, probability=None)
        ((_, (outcome,)),) = nearest_of(plain, X[[row]], wanted).values()
        return outcome.z is not None

    if not exists(_without_limits(domain)):
        raise ValueError(f"The model never predicts the class {target!r}, so that no row has it.")
    if not exists(_without_limits(domain, lower=domain.lower, upper=domain.upper)):
        raise ValueError(f"No row within the bounds has the class {target!r}: widen them.")


def _without_limits(domain: Domain, lower=-np.inf, upper=np.inf) -> Domain:
    n = len(domain.scale)
    lower, upper = (np.broadcast_to(np.asarray(side, float), n) for side in (lower, upper))
    return Domain(domain.norm, domain.scale, np.zeros(n, dtype=bool), lower, upper, np.zeros(n), names=domain.names)


# Relative gap below which an answer counts as proven.
PROVEN = 1e-5


class Change(NamedTuple):
    """One feature, or one column of a table, that changes."""

    feature: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.feature}: {shown(self.before)} -> {shown(self.after)}"


def shown(cell: Any) -> str:
    """A value for a reader."""
    return "missing" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def changes_of(x: np.ndarray, z: np.ndarray, names: list[str]) -> list[Change]:
    """The features that change, the largest change first."""
    changed = np.flatnonzero((x != z) & np.isfinite(z))
    changed = changed[np.argsort(-np.abs(z - x)[changed], kind="stable")]
    return [Change(names[f], float(x[f]), float(z[f])) for f in changed]


def is_proven(distance: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Whether there is no allowed row nearer than the distance; for an infinite one, whether there is none at all."""
    finite = np.where(np.isfinite(distance), distance, 0.0)
    return np.where(np.isfinite(distance), finite - bound <= PROVEN * finite + 1e-12, np.isinf(bound))


@dataclass(frozen=True)
class Counterfactuals:
    """The nearest rows of another class, one per row of X or, on request, several.

    Attributes
    ----------
    rows : ndarray of shape (n_answers, n_features) or DataFrame
        The nearest rows. `predict` gives them the class in `target`. NaN where no allowed row has the class.
    before, target : ndarray of shape (n_answers,)
        Classes that are predicted for the rows of X and for the nearest rows.
    distance : ndarray of shape (n_answers,)
        Distance of the nearest row from the row of X; infinite where there is none.
    bound : ndarray of shape (n_answers,)
        Proven: no allowed row of the class is nearer than this. Of several answers about a row, the next ones leave at
        least one column of each earlier answer as it is.
    start : ndarray of shape (n_answers, n_features)
        The rows of X that the answers are about.
    names : list of str
        Names of the features.
    norm : str
        Norm of the distance.
    n_answers : int
        Answers per row of X; those of a row follow each other.
    low, high : ndarray of shape (n_answers, n_features) or None
        On request, the ends of a box at each answer. It is proven that every row in it has the class that was asked
        for or, where none was, another one than the row.
    """

    rows: Any
    before: np.ndarray
    target: np.ndarray
    distance: np.ndarray
    bound: np.ndarray
    start: np.ndarray = field(repr=False)
    names: list[str] = field(repr=False)
    norm: str = "l2"
    n_answers: int = 1
    low: np.ndarray | None = None
    high: np.ndarray | None = None

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
        return [changes_of(x, z, self.names) for x, z in zip(self.start, np.asarray(self.rows, dtype=float))]

    def __len__(self) -> int:
        return len(self.distance)

    def plot(self, row: int = 0, *, scale=None, max_features: int = 12, ax=None):
        """Draw the changes that lead one row to its counterfactual; see `ldep.plotting.plot_counterfactual`."""
        from ldep.plotting import plot_counterfactual

        return plot_counterfactual(self, row, scale=scale, max_features=max_features, ax=ax)

    def __str__(self) -> str:
        lines = []
        for number, changes in enumerate(self.changes):
            row, answer = divmod(number, self.n_answers)
            which = f"row {row}" if self.n_answers == 1 else f"row {row}, answer {answer + 1}"
            lines.append(f"{which}: {self.before[number]} -> {self.target[number]}, {self._quality(number)}")
            lines += [f"    {change}{self._range(number, change)}" for change in changes]
        return "\n".join(lines)

    def _range(self, number: int, change: Change) -> str:
        """The values in the box that will do as well."""
        if self.low is None or self.high is None:
            return ""
        feature = self.names.index(change.feature)
        low, high = float(self.low[number, feature]), float(self.high[number, feature])
        if f"{low:.6g}" == f"{high:.6g}":
            return ""
        if np.isinf(low) or np.isinf(high):
            return f" (or any other of at {'least' if np.isinf(high) else 'most'} that)"
        return f" (or any from {low:.6g} to {high:.6g})"

    def _quality(self, number: int) -> str:
        distance, bound = self.distance[number], self.bound[number]
        norm = {"l2": "L2", "l1": "L1", "linf": "Linf"}[self.norm]
        if np.isinf(distance):
            return "no allowed row has it" if np.isinf(bound) else f"none found, and none is nearer than {bound:.6g}"
        if self.optimal[number]:
            return f"{norm} distance {distance:.6g}, proven to be the nearest"
        return f"{norm} distance {distance:.6g}; none is nearer than {bound:.6g}"
