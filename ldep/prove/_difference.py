"""Where two models differ: the largest difference of their decision values, and the rows on which they disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldep._utils import feature_names
from ldep.answers import TableModel
from ldep.explain import Deadline
from ldep.model import FittedModel
from ldep.prove._cases import MARGIN, Verdict, check_votes, fitted_or_missing, rows_of, take, undecided, wins
from ldep.prove._certificate import Inputs, Question, condition, numbers_of, written
from ldep.prove._search import Search
from ldep.prove._space import Rows, Space

# A largest difference is found up to this share of the range of differences.
TOLERANCE = 1e-6
# A nearest disagreement is searched up to this many standard deviations, and found to this share of its distance.
FARTHEST = 10.0
NEAR = 0.02


@dataclass
class Extreme:
    """The row on which one model exceeds the other most.

    Attributes
    ----------
    difference : float
        By how much, at the row.
    bound : float
        No row in the ranges has a larger difference.
    row : dict
        Its raw cells.
    values : tuple of float
        The decision values of the two models there.
    """

    difference: float
    bound: float
    row: dict[str, Any]
    values: tuple[float, float]


@dataclass
class Disagreement:
    """Whether some row has one class under the first model and another one under the second.

    `row` is such a row, None if there is none or none was found; `decided` is False if the time was over.
    """

    classes: tuple[str, str]
    row: dict[str, Any] | None
    decided: bool


@dataclass
class Nearest:
    """How far a row is from a disagreement of the two models.

    Every number of the row may change by at most the same multiple of its standard deviation; all else stays.

    Attributes
    ----------
    distance : float
        The multiple with which `row` was found; infinite if there is no such row.
    bound : float
        Within this multiple there is no disagreement.
    row : dict or None
        The raw cells of the row on which they disagree.
    """

    distance: float
    bound: float
    row: dict[str, Any] | None


@dataclass
class Difference:
    """Where two models differ, within the ranges of the training rows.

    Attributes
    ----------
    extremes : list of Extreme
        Where the second decision value exceeds the first one most, and the other way round. With more than two classes
        there is one pair for each class.
    disagreements : list of Disagreement
        For each pair of classes.
    nearest : list of Nearest
        For each typical row.
    certificate : dict
        The evidence of the bounds.
    """

    names: list[str]
    extremes: list[Extreme] = field(default_factory=list)
    disagreements: list[Disagreement] = field(default_factory=list)
    nearest: list[Nearest] = field(default_factory=list)
    certificate: dict[str, Any] = field(default_factory=dict)


class Comparison:
    """Two models on the same rows, as a question."""

    def __init__(self, first: Any, second: Any, X: Any, where: Mapping[str, Any] | None = None):
        self.models = models = (first, second)
        self.fitted, self.classes = [_fitted(model) for model in models], _same_classes(models)
        if all(isinstance(model, TableModel) for model in models):
            space = Space.of_tables([model.raw for model in models], X)
        elif any(isinstance(model, TableModel) for model in models):
            raise ValueError("a model of a raw table and one of features have no rows in common.")
        else:
            names = [feature_names(model) for model in models]
            if names[0] != names[1]:
                raise ValueError("the two models have different features.")
            space = Space.of_features(names[0], rows_of(first, X), self.fitted)
        self.space = space.within(where or {})
        self.question = Question([numbers_of(model) for model in self.fitted], Inputs())
        self.rows = Rows(self.space, self.question)
        self.rows.add("")
        for copy in range(2):
            self.question.add_copy(copy, self.rows.features(0, copy))
        self.problem = self.question.problem()
        self.claims: list[dict[str, Any]] = []

    def search(self, conditions: list[dict[str, Any]], deadline: Deadline, ranges: Sequence[Any] = ()) -> Search:
        return Search(self.problem, {"conditions": conditions, "ranges": list(ranges)}, deadline)

    def pairs(self) -> list[tuple[int, int]]:
        """A class under the first model, and another one under the second."""
        n = len(self.classes)
        return [(k, other) for k in range(n) for other in range(n) if other != k]

    def disagrees(self, pair: tuple[int, int], deadline: Deadline, ranges: Sequence[Any] = ()) -> Search:
        """Whether some row has one class under the first model and the other one under the second."""
        n = len(self.classes)
        search = self.search([*wins(0, pair[0], n), *wins(1, pair[1], n)], deadline, ranges)
        search.decide(MARGIN)
        return search

    def points(self, X: Any) -> np.ndarray:
        """Rows as points of the inputs."""
        features = [_features(model, X) for model in self.models]
        return self.space.points(features)

    def nearest(self, point: np.ndarray, spreads: np.ndarray, deadline: Deadline) -> Nearest:
        """How far a point is from a disagreement, by halving."""
        bound, best = 0.0, Nearest(np.inf, 0.0, None)
        reach = FARTHEST
        while deadline.left > 0 and (best.row is None or best.distance - bound > NEAR * best.distance):
            searches = []
            for pair in self.pairs():
                searches.append(self.disagrees(pair, deadline, self.space.around(point, reach, spreads)))
                if searches[-1].above:
                    break
            found = searches[-1]
            if found.above and found.x is not None:
                moved = np.abs(found.x - point)[spreads > 0] / spreads[spreads > 0]
                best = Nearest(min(float(moved.max()), reach), bound, self.rows.cells(0, found.x))
            elif all(search.excluded for search in searches):
                bound = reach
                if best.row is None:
                    break
            else:
                break
            reach = (bound + best.distance) / 2.0
        best.bound = bound
        return best

    def keep(self, text: str, search: Search) -> float:
        """Keep the proof of a bound, and return the bound."""
        bound = search.exact_bound()
        self.claims.append({"claim": text, **search.claim, "bound": written(bound) if bound is not None else 0,
                            "tree": search.tree})  # fmt: skip
        return float(bound) if bound is not None else -np.inf

    def certificate(self) -> dict[str, Any]:
        return {**self.question.to_json(), "claims": self.claims}

    def values(self, search: Search, label: int) -> tuple[float, float]:
        """The scores of a class under the two models at the row that a search has found."""
        assert search.x is not None
        at = search.arrays.values(search.x[None])[0]
        first, second = (float(search.arrays.row(scores[label]) @ at) for scores in self.problem.scores)
        return first, second


def _features(model: Any, X: Any) -> np.ndarray:
    """The features of rows, before scaling."""
    if not isinstance(model, TableModel):
        return rows_of(model, X)
    features = model.encoder.transform(X)
    return np.where(np.isnan(features), model.raw.fill, features)


def _fitted(model: Any) -> FittedModel:
    fitted = model.fitted if isinstance(model, TableModel) else fitted_or_missing(model)
    check_votes(fitted)
    return fitted


def _same_classes(models: tuple[Any, Any]) -> list[str]:
    first, second = ([str(label) for label in model.classes_] for model in models)
    if first != second:
        raise ValueError(f"the classes of the models differ: {', '.join(first)} and {', '.join(second)}.")
    return first


def difference(
    first: Any,
    second: Any,
    X: Any,
    *,
    where: Mapping[str, Any] | None = None,
    typical: Any = None,
    seconds: float = 60.0,
) -> Difference:
    """Find the largest differences of the decision values of two models, and rows on which their classes differ.

    Parameters
    ----------
    first, second : TableModel or estimator
        The two models, of the same kind and with the same classes.
    X : data frame or array-like
        Training rows, whose ranges are searched: raw ones for a TableModel.
    where : dict, default=None
        Smaller ranges of columns: two numbers, or a list of values.
    typical : data frame or array-like, default=None
        Rows of which the nearest disagreements are wanted.
    seconds : float, default=60
        The time limit.

    Returns
    -------
    difference : Difference
        The rows on which they differ most, with bounds that no row exceeds, and the certificate of the bounds.
    """
    comparison = Comparison(first, second, X, where)
    n = len(comparison.classes)
    compared = [1] if n == 2 else list(range(n))
    points = np.zeros((0, 0)) if typical is None else comparison.points(typical)
    left, deadline = 2 * len(compared) + n * (n - 1) + len(points), Deadline.after(seconds)
    found = Difference(comparison.space.names)
    for label in compared:
        for sign in (1.0, -1.0):
            search = comparison.search([condition([(1, label, sign), (0, label, -sign)])], _part(deadline, left))
            search.largest(TOLERANCE)
            left -= 1
            which = "second" if sign > 0 else "first"
            text = f"the largest lead of the {which} model in the decision value of {comparison.classes[label]}"
            bound = comparison.keep(text, search)
            if search.x is not None:
                row = comparison.rows.cells(0, search.x)
                found.extremes.append(Extreme(search.best, bound, row, comparison.values(search, label)))
    for k, other in comparison.pairs():
        search = comparison.disagrees((k, other), _part(deadline, left))
        left -= 1
        names = comparison.classes[k], comparison.classes[other]
        at = comparison.rows.cells(0, search.x) if search.above and search.x is not None else None
        if search.excluded:
            comparison.keep(f"never {names[0]} and then {names[1]}", search)
        found.disagreements.append(Disagreement(names, at, search.above or search.excluded))
    spreads = comparison.points(X).std(axis=0)
    for point in points:
        found.nearest.append(comparison.nearest(point, spreads, _part(deadline, left)))
        left -= 1
    found.certificate = comparison.certificate()
    return found


def _part(deadline: Deadline, left: int) -> Deadline:
    return Deadline.after(max(deadline.left, 0.0) / left)


def agree(first: Any, second: Any, X: Any, content: dict[str, Any], deadline: Deadline) -> Verdict:
    """The promise that a model and another one have the same class, or decision values within an amount."""
    within, where, version = take(content, "agree_with", "within", "where", "version")
    verdict = Verdict({"agree_with": content})
    if second is None:
        raise ValueError("agree_with needs the other model.")
    if within is not None and (isinstance(within, bool) or not isinstance(within, (int, float)) or within < 0):
        raise ValueError(f"within is {within!r}; it must be a number that is not negative.")
    comparison = Comparison(first, second, X, where)
    n, shown = len(comparison.classes), version or "the other model"
    questions = []
    if within is None:
        for k, other in comparison.pairs():
            text = f"a row is {comparison.classes[k]} here and {comparison.classes[other]} under {shown}"
            questions.append((text, [*wins(0, k, n), *wins(1, other, n)]))
    else:
        for label in [1] if n == 2 else range(n):
            for sign in (1.0, -1.0):
                text = f"the decision values here and under {shown} differ by more than {within:g}"
                questions.append((text, [condition([(0, label, sign), (1, label, -sign)], -float(within))]))
    for text, conditions in questions:
        search = comparison.search(conditions, deadline)
        search.decide(MARGIN)
        if search.above and search.x is not None:
            verdict.rows, verdict.why = [comparison.rows.cells(0, search.x)], f"{text}"
            return verdict
        if search.excluded:
            comparison.keep(f"never: {text}", search)
        if not search.excluded:
            return undecided(verdict, search, text)
    verdict.kept, verdict.certificate = True, comparison.certificate()
    verdict.why = f"the model agrees with {shown}" + (f" within {within:g}" if within is not None else "")
    return verdict
