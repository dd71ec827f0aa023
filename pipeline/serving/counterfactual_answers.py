"""The nearest change of each row that gives it another class, in the raw columns as a client knows them.

A numeric column changes by any amount, measured in standard deviations of the training rows. A nominal column is a
choice: it changes to another of its categories or not at all, and a change counts 1, whatever the two categories are.
The search runs in coordinates v of one row: one per numeric column, and one per other category of a nominal column,
which is 1 if that category is chosen. The features of the model are an affine function of v, so that the answer is as
exact as that of the model itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ldep.estimators.exact import ExactAnswers
from ldep.exact.counterfactual import Question, counterfactuals, searchable
from ldep.exact.deadline import Deadline
from ldep.exact.domain import NORMS, make_domain
from ldep.exact.nearest import Outcome
from ldep.exact.result import is_proven
from ldep.export.piecewise import NotExportable
from ldep.threads import single_thread
from pipeline.encoding import cells
from pipeline.serving.portable import Column, RawColumns, raw_columns

if TYPE_CHECKING:
    from pipeline.serving.served_model import ServedModel

OUTPUT = "counterfactual"
MOST_ROWS = 100
MOST_SECONDS = 60.0
DEFAULTS = {"frozen": [], "integer": [], "norm": "l2", "seconds": 10.0}


class Limits(NamedTuple):
    """What a client allows: columns that keep their value, columns of whole numbers, the norm, and the time."""

    frozen: list[str]
    integer: list[str]
    norm: str
    seconds: float


def read_limits(params: Mapping[str, Any]) -> Limits:
    """The limits in the parameters of a request; ValueError says which of them is wrong."""
    values = {**DEFAULTS, **{name: value for name, value in params.items() if name in DEFAULTS}}
    for name in ("frozen", "integer"):
        names = values[name].tolist() if isinstance(values[name], np.ndarray) else values[name]
        if not isinstance(names, list) or not all(isinstance(column, str) for column in names):
            raise ValueError(f"params.{name} must be a list of columns, such as ['age'].")
        values[name] = names
    if values["norm"] not in NORMS:
        raise ValueError(f"params.norm is {values['norm']!r}; it must be one of {', '.join(NORMS)}.")
    seconds = values["seconds"]
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= MOST_SECONDS:
        raise ValueError(f"params.seconds must be a number above 0 and at most {MOST_SECONDS:g}.")
    return Limits(**values)


def answers(served: ServedModel, rows: pd.DataFrame, X: np.ndarray, params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One answer per row. The time limit is that of all rows; each gets an equal part of what is left."""
    limits = read_limits(params)
    if len(X) > MOST_ROWS:
        raise ValueError(f"The request has {len(X)} rows; the output '{OUTPUT}' takes at most {MOST_ROWS}.")
    try:
        if not isinstance(served.model, ExactAnswers):
            raise NotExportable(f"{type(served.model).__name__} has no exact counterfactuals.")
        raw = raw_columns(served)
    except NotExportable as error:
        return [{"not_available": str(error)}] * len(X)
    _check_columns(served, raw, limits)
    records = []
    with single_thread():
        deadline = Deadline.after(limits.seconds)
        for number in range(len(X)):
            row = rows.iloc[number]
            space = RowSpace.of(served, raw, X[number], _with_gaps_frozen(limits, row))
            seconds = max(deadline.left / (len(X) - number), 0.001)
            records.append(space.record(row, seconds))
    return records


def _check_columns(served: ServedModel, raw: RawColumns, limits: Limits) -> None:
    """Refuse columns that do not exist, or that cannot be what a request says of them."""
    for argument in ("frozen", "integer"):
        for name in getattr(limits, argument):
            if name not in served.encoder.columns_:
                raise ValueError(f"params.{argument} names '{name}', which is not a column of the model.")
    if all(column.name in limits.frozen for column in raw.columns):
        raise ValueError("params.frozen names every column that the model uses, so that no row can change.")
    for column in raw.columns:
        if column.categories is not None and column.name in limits.integer:
            raise ValueError(f"params.integer names '{column.name}', which is a nominal column.")


def _with_gaps_frozen(limits: Limits, row: pd.Series) -> Limits:
    """Keep missing cells of integer columns: a mean fills them, from which whole steps do not lead to whole numbers."""
    gaps = [name for name in limits.integer if cells.read(row[name]) is None]
    return limits._replace(frozen=[*limits.frozen, *gaps])


class Coordinates(NamedTuple):
    """The coordinates of one column, and for a nominal column the category and the code that each of them chooses."""

    column: Column
    feature: int
    at: np.ndarray
    categories: list[str]
    codes: np.ndarray


@dataclass(frozen=True)
class RowSpace:
    """The coordinates around one row, and the question about it.

    Attributes
    ----------
    served : ServedModel
        The model.
    raw : RawColumns
        Its columns.
    x : ndarray of shape (n_features,)
        The row after encoding and imputation, before scaling.
    parts : list of Coordinates
        The coordinates of each column.
    start : ndarray of shape (n_coordinates,)
        The row itself: its scaled numbers, and 0 for every other category.
    limits : Limits
        What the client allows.
    """

    served: ServedModel
    raw: RawColumns
    x: np.ndarray
    parts: list[Coordinates]
    start: np.ndarray
    limits: Limits

    @classmethod
    def of(cls, served: ServedModel, raw: RawColumns, x: np.ndarray, limits: Limits) -> RowSpace:
        filled = np.where(np.isnan(x), [column.fill for column in raw.columns], x)
        parts: list[Coordinates] = []
        start: list[float] = []
        for feature, column in enumerate(raw.columns):
            if column.categories is None:
                at, texts, codes = [len(start)], [], []
                start.append((filled[feature] - raw.mean[feature]) / raw.scale[feature])
            else:
                known = sorted(set(cells.code_table(tuple(column.categories)).values()))
                codes = [code for code in known if code != filled[feature]]
                texts = [column.categories[int(code)] for code in codes]
                at = list(range(len(start), len(start) + len(codes)))
                start += [0.0] * len(codes)
            parts.append(Coordinates(column, feature, np.array(at, dtype=int), texts, np.array(codes)))
        return cls(served, raw, filled, parts, np.array(start), limits)

    def record(self, row: pd.Series, seconds: float) -> dict[str, Any]:
        """The answer about the row, which was sent with these cells."""
        question = self.question(seconds)
        try:
            reached, (outcome,) = counterfactuals(question, self.start[None], None)
        except ValueError as error:
            return {"not_available": str(error)}
        if outcome.z is None:
            return {"not_available": _why_none(outcome)}
        return {
            "class": self.served.classes[int(reached[0])],
            "changes": self.changes(outcome.z, row),
            "distance": outcome.distance,
            "bound": outcome.bound,
            "proven": bool(is_proven(np.array(outcome.distance), np.array(outcome.bound))),
        }

    def question(self, seconds: float) -> Question:
        matrix = np.zeros((len(self.x), len(self.start)))
        frozen = np.zeros(len(self.start), dtype=bool)
        steps, categories = {}, {}
        for part in self.parts:
            if part.column.name in self.limits.frozen:
                frozen[part.at] = True
            elif part.column.categories is None and part.column.name in self.limits.integer:
                steps[int(part.at[0])] = 1.0 / self.raw.scale[part.feature]
            elif len(part.codes):
                categories[tuple(part.at.tolist())] = np.vstack([np.zeros(len(part.at)), np.eye(len(part.at))])
            matrix[part.feature, part.at] = 1.0
            if part.column.categories is not None:
                matrix[part.feature, part.at] = (part.codes - self.x[part.feature]) / self.raw.scale[part.feature]
        features = (self.x - self.raw.mean) / self.raw.scale
        model = searchable(self.served.model._exact_model()).after(matrix, features, self.start)
        labels = [f"v{number}" for number in range(len(self.start))]
        domain = make_domain(labels, norm=self.limits.norm, frozen=frozen, integer=steps, categories=categories)
        return Question(model, self.decide, np.array(self.served.classes, dtype=object), domain, seconds)

    def decide(self, V: np.ndarray) -> np.ndarray:
        """Decision values of rows with these coordinates, as the model answers them over the raw numbers."""
        return self.served.rest.decision_function(self.numbers(V))

    def numbers(self, V: np.ndarray) -> np.ndarray:
        """The rows before scaling. What does not change keeps its bits."""
        X = np.tile(self.x, (len(V), 1))
        for part in self.parts:
            changed = (V[:, part.at] != self.start[part.at]).any(axis=1)
            moved, own = V[changed][:, part.at], self.x[part.feature]
            if part.column.categories is not None:
                X[changed, part.feature] = part.codes[moved.argmax(axis=1)]
                continue
            values = moved[:, 0] * self.raw.scale[part.feature] + self.raw.mean[part.feature]
            if part.column.name in self.limits.integer:
                values = own + np.rint(values - own)
            X[changed, part.feature] = values
        return X

    def changes(self, v: np.ndarray, row: pd.Series) -> dict[str, dict[str, Any]]:
        """From what to what the columns change."""
        (values,) = self.numbers(v[None])
        changes = {}
        for part in self.parts:
            if values[part.feature] == self.x[part.feature]:
                continue
            before, after = cells.read(row[part.column.name]), float(values[part.feature])
            if part.column.categories is not None:
                code = self.x[part.feature]
                known = before is not None and code in cells.code_table(tuple(part.column.categories)).values()
                before = part.column.categories[int(code)] if known else before
                changes[part.column.name] = {"from": before, "to": part.column.categories[int(after)]}
            else:
                changes[part.column.name] = {"from": before, "to": after}
        return changes


def _why_none(outcome: Outcome) -> str:
    if np.isinf(outcome.bound):
        return "No allowed change gives the row another class."
    return f"No change was found in time that gives the row another class; none is nearer than {outcome.bound:g}."
