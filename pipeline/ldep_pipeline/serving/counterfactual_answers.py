"""The nearest change of each row that gives it another class, in the raw columns as a client knows them.

A numeric column changes by any amount, measured in standard deviations of the training rows. A nominal column is a
choice: it changes to another of its categories or not at all, and a change counts 1, whatever the two categories are.
Dates and texts stay as they are, and so do missing numbers if the column has a feature that marks missing values.
The search runs in coordinates v of one row: one per numeric column, and one per other category of a nominal column,
which is 1 if that category is chosen. The features of the model are an affine function of v, so that the answer is as
exact as that of the model itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ldep.explain import NORMS, Deadline, ExactAnswers, Outcome, Question, counterfactuals, is_proven, make_domain
from ldep.export import NotExportable
from ldep.model import FittedModel
from ldep.solvers import single_thread
from ldep.table import FittedColumn, Numeric, cells

if TYPE_CHECKING:
    from ldep_pipeline.serving.served_model import RawColumns, ServedModel

OUTPUT = "counterfactual"
MOST_ROWS = 100
MOST_SECONDS = 60.0
NOTHING = "No allowed change gives the row another class."
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


def check(rows: int, params: Mapping[str, Any]) -> Limits:
    """The limits of a request with so many rows; ValueError says what of it is wrong."""
    limits = read_limits(params)
    if rows > MOST_ROWS:
        raise ValueError(f"The request has {rows} rows; the output '{OUTPUT}' takes at most {MOST_ROWS}.")
    return limits


def answers(served: ServedModel, rows: pd.DataFrame, X: np.ndarray, params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One answer per row. The time limit is that of all rows; each gets an equal part of what is left."""
    limits = check(len(X), params)
    try:
        if not isinstance(served.model, ExactAnswers):
            raise NotExportable(f"{type(served.model).__name__} has no exact counterfactuals.")
        raw = served.raw_columns()
        model = served.exact_model()
    except ValueError as error:
        return [{"not_available": str(error)}] * len(X)
    _check_columns(served, raw, limits)
    records = []
    with single_thread():
        deadline = Deadline.after(limits.seconds)
        for number in range(len(X)):
            row = rows.iloc[number]
            space = RowSpace.of(served, raw, X[number], _with_gaps_frozen(limits, row))
            seconds = max(deadline.left / (len(X) - number), 0.001)
            records.append(space.record(model, row, seconds))
    return records


def _check_columns(served: ServedModel, raw: RawColumns, limits: Limits) -> None:
    """Refuse columns that do not exist, or that cannot be what a request says of them."""
    for argument in ("frozen", "integer"):
        for name in getattr(limits, argument):
            if name not in served.encoder.columns_:
                raise ValueError(f"params.{argument} names '{name}', which is not a column of the model.")
    if all(column.name in limits.frozen for column, _ in raw.columns):
        raise ValueError("params.frozen names every column that the model uses, so that no row can change.")
    for column, _ in raw.columns:
        if column.kind != "numeric" and column.name in limits.integer:
            raise ValueError(f"params.integer names '{column.name}', which is a {column.kind} column.")


def _with_gaps_frozen(limits: Limits, row: pd.Series) -> Limits:
    """Keep missing cells of integer columns: a mean fills them, from which whole steps do not lead to whole numbers."""
    gaps = [name for name in limits.integer if cells.read(row[name]) is None]
    return limits._replace(frozen=[*limits.frozen, *gaps])


class ColumnCoordinates(NamedTuple):
    """The coordinates of one column, and for a nominal column what each of them chooses: a category, and its features.

    `features` are those of the column that change. There are no coordinates if the column must stay as it is.
    """

    column: FittedColumn
    features: slice
    at: np.ndarray
    categories: list[str]
    choices: np.ndarray


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
    parts : list of ColumnCoordinates
        The coordinates of each column.
    start : ndarray of shape (n_coordinates,)
        The row itself: its scaled numbers, and 0 for every other category.
    limits : Limits
        What the client allows.
    """

    served: ServedModel
    raw: RawColumns
    x: np.ndarray
    parts: list[ColumnCoordinates]
    start: np.ndarray
    limits: Limits

    @classmethod
    def of(cls, served: ServedModel, raw: RawColumns, x: np.ndarray, limits: Limits) -> RowSpace:
        filled = np.where(np.isnan(x), raw.fill, x)
        parts: list[ColumnCoordinates] = []
        start: list[float] = []
        for column, features in raw.columns:
            first, texts, choices, at = features.start, [], np.empty((0, 0)), []
            if column.categories is not None:
                codes = np.array(sorted(set(cells.code_table(tuple(column.categories)).values())))
                all_features = column.features(codes)
                if column.indicator:  # a category is no gap
                    all_features = np.column_stack([all_features, np.zeros(len(codes))])
                differs = (all_features != filled[features]).any(axis=1)
                texts, choices = [column.categories[int(code)] for code in codes[differs]], all_features[differs]
                at = list(range(len(start), len(start) + len(choices)))
                start += [0.0] * len(choices)
            elif column.kind == "numeric" and not (column.indicator and filled[features][-1]):
                features = slice(first, first + 1)
                at = [len(start)]
                start.append((filled[first] - raw.mean[first]) / raw.scale[first])
            parts.append(ColumnCoordinates(column, features, np.array(at, dtype=int), texts, choices))
        return cls(served, raw, filled, parts, np.array(start), limits)

    def record(self, model: FittedModel, row: pd.Series, seconds: float) -> dict[str, Any]:
        """The answer about the row, which was sent with these cells."""
        if not len(self.start):
            return {"not_available": "No column of the row can change: dates, texts and some missing values are kept."}
        question = self.question(model, seconds)
        try:
            reached, (outcome,) = counterfactuals(question, self.start[None], None)
        except ValueError:  # no row of another class differs from this one only in what can change
            return {"not_available": NOTHING}
        if outcome.z is None:
            return {"not_available": _why_none(outcome)}
        return {
            "class": self.served.classes[int(reached[0])],
            "changes": self.changes(outcome.z, row),
            "distance": outcome.distance,
            "bound": outcome.bound,
            "proven": bool(is_proven(np.array(outcome.distance), np.array(outcome.bound))),
        }

    def question(self, model: FittedModel, seconds: float) -> Question:
        matrix = np.zeros((len(self.x), len(self.start)))
        frozen = np.zeros(len(self.start), dtype=bool)
        steps, categories = {}, {}
        for part in self.parts:
            is_choice = part.column.categories is not None
            if not len(part.at):
                continue
            if part.column.name in self.limits.frozen:
                frozen[part.at] = True
            elif not is_choice and part.column.name in self.limits.integer:
                steps[int(part.at[0])] = 1.0 / float(self.raw.scale[part.features.start])
            elif is_choice:
                categories[tuple(part.at.tolist())] = np.vstack([np.zeros(len(part.at)), np.eye(len(part.at))])
            matrix[part.features, part.at] = 1.0
            if is_choice:
                matrix[part.features, part.at] = (
                    (part.choices - self.x[part.features]) / self.raw.scale[part.features]
                ).T
        features = (self.x - self.raw.mean) / self.raw.scale
        labels = [f"v{number}" for number in range(len(self.start))]
        domain = make_domain(labels, norm=self.limits.norm, frozen=frozen, integer=steps, categories=categories)
        classes = np.array(self.served.classes, dtype=object)
        return Question(model.after(matrix, features, self.start), self.decide, classes, domain, seconds)

    def decide(self, V: np.ndarray) -> np.ndarray:
        """Decision values of rows with these coordinates, as the model answers them over the raw numbers."""
        values = self.served.score(self.numbers(V))[1]
        assert values is not None
        return values

    def numbers(self, V: np.ndarray) -> np.ndarray:
        """The rows before scaling. What does not change keeps its bits."""
        X = np.tile(self.x, (len(V), 1))
        for part in self.parts:
            changed = (V[:, part.at] != self.start[part.at]).any(axis=1)
            moved, feature = V[changed][:, part.at], part.features.start
            if part.column.categories is not None:
                if changed.any():
                    X[changed, part.features] = part.choices[moved.argmax(axis=1)]
                continue
            if not len(part.at):
                continue
            values = moved[:, 0] * self.raw.scale[feature] + self.raw.mean[feature]
            if part.column.name in self.limits.integer:
                values = self.x[feature] + np.rint(values - self.x[feature])
            X[changed, feature] = values
        return X

    def changes(self, v: np.ndarray, row: pd.Series) -> dict[str, dict[str, Any]]:
        """From what to what the columns change."""
        (values,) = self.numbers(v[None])
        changes = {}
        for part in self.parts:
            after = values[part.features]
            if (after == self.x[part.features]).all():
                continue
            before = cells.read(row[part.column.name])
            if part.column.categories is not None:
                code = cells.code_of(row[part.column.name], cells.code_table(tuple(part.column.categories)))
                before = before if math.isnan(code) else part.column.categories[int(code)]
                chosen = int((part.choices == after).all(axis=1).argmax())
                changes[part.column.name] = {"from": before, "to": part.categories[chosen]}
            else:
                number = float(after[0])
                to = part.column.cell(number) if isinstance(part.column, Numeric) else number
                changes[part.column.name] = {"from": before, "to": to}
        return changes


def _why_none(outcome: Outcome) -> str:
    if np.isinf(outcome.bound):
        return NOTHING
    return f"No change was found in time that gives the row another class; none is nearer than {outcome.bound:g}."
