"""The rows that a promise is about: ranges of columns, and the features that one or two models make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ldep.prove._certificate import Feature, Inputs, Question, feature

if TYPE_CHECKING:
    import pandas as pd

    from ldep.answers import RawColumns
    from ldep.model import FittedModel

# A column of dates or texts takes the values of the training rows; with more values than this nothing is proven.
MOST_VALUES = 1000
MISSING = "(missing)"
# Relative difference below which two numbers are the same.
SAME = 1e-9


@dataclass(frozen=True)
class Column:
    """A column: a range of numbers, perhaps on a grid, or a list of values, with what the models make of it.

    Parameters
    ----------
    name : str
        The column.
    low, high : float
        The range of its numbers.
    grid : tuple of two floats or None
        A number of its grid, and the step; None is any number.
    labels : list of str or None
        Its values, where they are listed; None for numbers.
    features : list of list of int
        For each model the features that come from it.
    table : ndarray of shape (n_labels, n_features)
        What the values are as features, those of all models side by side.
    fill : list of float or None
        For numbers of which being missing is one more value: for each model what then fills the first feature. A second
        feature, if there is one, marks it.
    """

    name: str
    low: float = 0.0
    high: float = 0.0
    grid: tuple[float, float] | None = None
    labels: list[str] | None = None
    features: list[list[int]] = field(default_factory=list)
    table: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    fill: list[float] | None = None


@dataclass(frozen=True)
class Scaling:
    """What one model does to its features first: (x - mean) / scale. Features of no column have a fixed value."""

    mean: np.ndarray
    scale: np.ndarray


@dataclass(frozen=True)
class Space:
    """The columns of one or two models, with the ranges of the training rows.

    Parameters
    ----------
    columns : list of Column
        The columns.
    scalings : list of Scaling
        One per model.
    """

    columns: list[Column]
    scalings: list[Scaling]

    @classmethod
    def of_features(cls, names: Sequence[str], X: np.ndarray, models: Sequence[FittedModel]) -> Space:
        """Features as columns, with the ranges of the rows X. Those that may be missing have marks after the others."""
        columns = []
        marked = [np.flatnonzero(model.takes_missing).tolist() for model in models]
        for j, name in enumerate(names):
            own = [[j, len(names) + marks.index(j)] if j in marks else [j] for marks in marked]
            gaps = bool(np.isnan(X[:, j]).any())
            if gaps and len(models) > 1:
                raise ValueError(f"'{name}' has missing values, on which two models are not compared.")
            fill = [float(models[0].members[0].center[j])] if gaps else None
            columns.append(_of_numbers(name, X[:, j], own, fill))
        sizes = [len(names) + len(marks) for marks in marked]
        return cls(columns, [Scaling(np.zeros(size), np.ones(size)) for size in sizes])

    @classmethod
    def of_tables(cls, raws: Sequence[RawColumns], frame: pd.DataFrame) -> Space:
        """Raw columns, with the ranges and the values of the training rows in a frame.

        Numbers that are all whole stay whole, and two different ones stay the only ones. A missing number without a
        mark counts as the number that fills it, and one with a mark as one more value, if there is one in the frame. So
        does a missing category.
        """
        used = list(dict.fromkeys(column.fitted.name for raw in raws for column in raw.columns))
        columns = [_raw_column(name, raws, frame) for name in used]
        return cls(columns, [Scaling(raw.mean, raw.scale) for raw in raws])

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def column(self, name: str) -> Column:
        """The column of this name; ValueError if the models do not use it."""
        for column in self.columns:
            if column.name == name:
                return column
        known = ", ".join(self.names[:10])
        raise ValueError(f"'{name}' is not a column that the model uses; it uses {known}.")

    def number(self, name: str) -> Column:
        """The column of this name, which must hold numbers."""
        column = self.column(name)
        if column.labels is not None:
            raise ValueError(f"'{name}' does not hold numbers, but {len(column.labels)} different values.")
        return column

    def within(self, where: Mapping[str, Any]) -> Space:
        """The same columns in smaller ranges: two numbers, or a list of values of a column."""
        changed = {name: _limited(self.column(name), limits) for name, limits in where.items()}
        return Space([changed.get(column.name, column) for column in self.columns], self.scalings)

    def points(self, features: Sequence[np.ndarray]) -> np.ndarray:
        """Rows as points of the inputs of one row, from the features that each model makes of them, before scaling."""
        parts = []
        for column in self.columns:
            blocks = [rows[:, own] for rows, own in zip(features, column.features) if own]
            if column.labels is not None:
                parts.append(np.hstack(blocks))
            else:
                parts.append(blocks[0][:, :1])
                if column.fill is not None:
                    marks = [block[:, 1:2] for block in blocks if block.shape[1] > 1]
                    parts.append(marks[0] if marks else np.zeros((len(blocks[0]), 1)))
        return np.hstack(parts)

    def around(self, point: np.ndarray, reach: float, spreads: np.ndarray) -> list[list[float]]:
        """Ranges of the inputs around a point: each number moves by its reach, and all else stays."""
        ranges, place = [], 0
        for column in self.columns:
            width = column.table.shape[1] if column.labels is not None else 1 + (column.fill is not None)
            for k in range(width):
                at = float(point[place])
                moves = reach * float(spreads[place]) if column.labels is None and k == 0 else SAME * (1.0 + abs(at))
                ranges.append([place, at - moves, at + moves])
                place += 1
        return ranges


def _limited(column: Column, limits: Any) -> Column:
    values = list(limits) if isinstance(limits, (list, tuple)) else [limits]
    if column.labels is not None:
        unknown = [value for value in values if str(value) not in column.labels]
        if unknown or not values:
            known = ", ".join(column.labels[:10])
            raise ValueError(f"'{column.name}' has no value {unknown[0] if unknown else 'at all'!r}; it has {known}.")
        kept = [column.labels.index(str(value)) for value in values]
        return Column(column.name, labels=[column.labels[k] for k in kept], features=column.features,
                      table=column.table[kept])  # fmt: skip
    if len(values) == 1:
        values *= 2
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    if len(values) != 2 or not numbers or not values[0] <= values[1]:
        raise ValueError(f"the range of '{column.name}' is {limits!r}; it must be two numbers, the smaller one first.")
    low, high = float(values[0]), float(values[1])
    if column.grid is not None:
        base, step = column.grid
        if np.ceil((low - base) / step) > np.floor((high - base) / step):
            raise ValueError(f"the range of '{column.name}' is {limits!r}, which has no number of its grid.")
        high += SAME * step
    return Column(column.name, low, high, column.grid, None, column.features, column.table, None)


def _of_numbers(name: str, values: np.ndarray, features: list[list[int]], fill: list[float] | None) -> Column:
    """A column with the range of these numbers. Whole numbers stay whole, and two different ones stay the only ones."""
    known = values[~np.isnan(values)]
    if not len(known):
        raise ValueError(f"the training rows have no number in '{name}'.")
    low, high, distinct, grid = float(known.min()), float(known.max()), np.unique(known), None
    if len(known) == len(values) and len(distinct) == 2:
        grid = (low, high - low)
        high += SAME * (high - low)  # what the difference was rounded by
    elif len(known) == len(values) and len(distinct) > 2 and (distinct == np.rint(distinct)).all():
        grid = (0.0, 1.0)
    return Column(name, low, high, grid, features=features, fill=fill)


def _raw_column(name: str, raws: Sequence[RawColumns], frame: pd.DataFrame) -> Column:
    found = [next((c for c in raw.columns if c.fitted.name == name), None) for raw in raws]
    kinds = {column.fitted.kind for column in found if column is not None}
    if len(kinds) > 1:
        raise ValueError(f"the models do not agree whether '{name}' is {' or '.join(sorted(kinds))}.")
    if name not in frame.columns:
        raise ValueError(f"the training rows have no column '{name}'.")
    features = [[] if column is None else list(range(column.features.start, column.features.stop)) for column in found]
    first = next(column for column in found if column is not None)
    cells = frame[name]
    codes = [None if column is None else column.fitted.codes(cells) for column in found]
    known = first.fitted.codes(cells)
    missing = np.isnan(known if known.ndim == 1 else known.sum(axis=1))
    if first.fitted.kind == "numeric":
        fill = None
        if missing.any() and (len(raws) > 1 or len(features[0]) > 1):
            fill = [float(raw.fill[own[0]]) if own else np.nan for raw, own in zip(raws, features)]
        return _of_numbers(name, known, features, fill)
    tables, labels = [], []
    if first.fitted.categories is not None:
        labels = [str(category) for category in first.fitted.categories]
        others = [list(c.fitted.categories or ()) for c in found if c is not None]
        labels = [label for label in labels if all(label in other for other in others)]
    else:
        seen = cells[~missing].astype(str).drop_duplicates()
        if len(seen) > MOST_VALUES:
            raise ValueError(f"'{name}' has {len(seen)} values; nothing is proven about more than {MOST_VALUES}.")
        labels = seen.tolist()
    for raw, column, own in zip(raws, found, codes):
        if column is None or own is None:
            continue
        if first.fitted.categories is not None:
            places = np.array([list(column.fitted.categories or ()).index(label) for label in labels], dtype=float)
            rows = column.fitted.features(places)
        else:
            rows = column.fitted.features(own[cells.index.get_indexer(seen.index)])
        mark = column.features.stop - column.features.start > rows.shape[1]
        rows = np.column_stack([rows, np.zeros(len(rows))]) if mark else rows
        if missing.any():
            gap = raw.fill[column.features].copy()
            if mark:
                gap[-1] = 1.0
            rows = np.vstack([rows, gap])
        tables.append(rows)
    return Column(name, labels=labels + ([MISSING] if missing.any() else []), features=features,
                  table=np.hstack(tables))  # fmt: skip


def _first(fill: list[float]) -> float:
    """What fills a missing number for the first model that has the column."""
    return next(value for value in fill if not np.isnan(value))


class Rows:
    """One row or several rows of a space as inputs of a question."""

    def __init__(self, space: Space, question: Question):
        self.space, self.question = space, question
        self.places: list[dict[str, list[int]]] = []

    def add(self, name: str, changed: Mapping[str, Column] | None = None) -> int:
        """Add a row that shares its inputs with the first row, apart from the changed columns; return its number."""
        places = {}
        for column in self.space.columns:
            if changed is not None and column.name not in changed:
                places[column.name] = self.places[0][column.name]
            else:
                places[column.name] = self._inputs(column if changed is None else changed[column.name], name)
        self.places.append(places)
        return len(self.places) - 1

    def _inputs(self, column: Column, row: str) -> list[int]:
        inputs: Inputs = self.question.inputs
        label = f"{column.name}{row}"
        if column.labels is None:
            if column.fill is None:
                return [inputs.add(label, column.low, column.high, column.grid)]
            # A missing number is its fill, with the mark 1: low (1 - m) + fill m <= x <= high (1 - m) + fill m.
            fill = _first(column.fill)
            value = inputs.add(label, min(column.low, fill), max(column.high, fill))
            mark = inputs.add(f"{label} is missing", 0.0, 1.0, (0.0, 1.0))
            inputs.rows.append(([(value, 1.0), (mark, column.high - fill)], column.high))
            inputs.rows.append(([(value, -1.0), (mark, fill - column.low)], -column.low))
            return [value, mark]
        width = column.table.shape[1]
        places = [inputs.add(f"{label} [{k}]", column.table[:, k].min(), column.table[:, k].max())
                  for k in range(width)]  # fmt: skip
        inputs.add_choice(places, column.table)
        return places

    def features(self, row: int, model: int, moved: tuple[str, int] | None = None) -> list[Feature]:
        """The features of a row for a model. `moved` adds an input to a column."""
        scaling = self.space.scalings[model]
        made: list[Feature | None] = [None] * len(scaling.mean)
        for column in self.space.columns:
            own = column.features[model]
            before = sum(len(part) for part in column.features[:model]) if column.labels is not None else 0
            for k, number in enumerate(own):
                terms = []
                if column.labels is not None or k < len(self.places[row][column.name]):
                    terms = [(self.places[row][column.name][before + k], 1.0)]
                if k == 0 and column.fill is not None and column.fill[model] != _first(column.fill):
                    terms.append((self.places[row][column.name][1], column.fill[model] - _first(column.fill)))
                if moved is not None and moved[0] == column.name and k == 0:
                    terms.append((moved[1], 1.0))
                made[number] = feature(terms, -scaling.mean[number], scaling.scale[number])
        assert all(entry is not None for entry in made)
        return [entry for entry in made if entry is not None]

    def cells(self, row: int, x: np.ndarray) -> dict[str, Any]:
        """The raw cells of a row at a point of the inputs."""
        cells: dict[str, Any] = {}
        for column in self.space.columns:
            places = self.places[row][column.name]
            if column.labels is None:
                cells[column.name] = None if len(places) > 1 and x[places[1]] > 0.5 else float(x[places[0]])
            else:
                near = int(np.abs(column.table - x[places]).sum(axis=1).argmin())
                cells[column.name] = None if column.labels[near] == MISSING else column.labels[near]
        return cells
