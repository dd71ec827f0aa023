"""The raw columns around one row as coordinates, of which the features of the model are an affine function.

A numeric column changes by any amount, measured in standard deviations of the training rows. A nominal column is a
choice: it changes to another of its categories or not at all, and a change counts 1, whatever the two categories are.
Dates and texts stay as they are, and so do missing numbers if the column has a feature that marks missing values.
There is one coordinate v per numeric column, and one per other category of a nominal column, which is 1 if that
category is chosen. Answers in these coordinates are as exact as those of the model itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ldep.answers._columns import RawColumns
from ldep.explain import Domain, Question, make_domain
from ldep.model import FittedModel
from ldep.table import FittedColumn, Nominal, Numeric, cells


class Limits(NamedTuple):
    """What an answer may change: not the frozen columns, others by whole numbers; and the norm of the distance."""

    frozen: tuple[str, ...] = ()
    integer: tuple[str, ...] = ()
    norm: str = "l2"

    def with_gaps_frozen(self, row: pd.Series) -> Limits:
        """Keep missing cells of integer columns: a mean fills them, from which no whole steps lead to whole numbers."""
        gaps = [name for name in self.integer if cells.read(row[name]) is None]
        return self._replace(frozen=(*self.frozen, *gaps))


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
    raw : RawColumns
        The columns of the model.
    x : ndarray of shape (n_features,)
        The row after encoding and imputation, before scaling.
    parts : list of ColumnCoordinates
        The coordinates of each column.
    start : ndarray of shape (n_coordinates,)
        The row itself: its scaled numbers, and 0 for every other category.
    limits : Limits
        What may change.
    """

    raw: RawColumns
    x: np.ndarray
    parts: list[ColumnCoordinates]
    start: np.ndarray
    limits: Limits

    @classmethod
    def of(cls, raw: RawColumns, x: np.ndarray, limits: Limits) -> RowSpace:
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
        return cls(raw, filled, parts, np.array(start), limits)

    @property
    def matrix(self) -> np.ndarray:
        """What a coordinate adds to each scaled feature: features(v) = features(start) + matrix (v - start)."""
        matrix = np.zeros((len(self.x), len(self.start)))
        for part in self.parts:
            if len(part.at) and part.column.categories is None:
                matrix[part.features, part.at] = 1.0
            elif len(part.at):
                steps = (part.choices - self.x[part.features]) / self.raw.scale[part.features]
                matrix[part.features, part.at] = steps.T
        return matrix

    @property
    def features(self) -> np.ndarray:
        """The scaled features of the row itself."""
        return (self.x - self.raw.mean) / self.raw.scale

    def domain(self) -> Domain:
        """The allowed coordinates: those of a nominal column are all 0, or one of them is 1."""
        frozen = np.zeros(len(self.start), dtype=bool)
        steps, categories = {}, {}
        for part in self.parts:
            if not len(part.at):
                continue
            if part.column.name in self.limits.frozen:
                frozen[part.at] = True
            elif part.column.categories is not None:
                categories[tuple(part.at.tolist())] = np.vstack([np.zeros(len(part.at)), np.eye(len(part.at))])
            elif part.column.name in self.limits.integer:
                steps[int(part.at[0])] = 1.0 / float(self.raw.scale[part.features.start])
        labels = [f"v{number}" for number in range(len(self.start))]
        return make_domain(labels, norm=self.limits.norm, frozen=frozen, integer=steps, categories=categories)

    def question(
        self, model: FittedModel, decide: Callable[[np.ndarray], np.ndarray], classes: np.ndarray, seconds: float
    ) -> Question:
        """What is asked: `decide` gives the decision values of rows before scaling, as the predictions have them."""
        within = model.after(self.matrix, self.features, self.start)
        return Question(within, lambda V: decide(self.numbers(V)), classes, self.domain(), seconds)

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

    def changes(self, v: np.ndarray, row: pd.Series) -> dict[str, tuple[Any, Any]]:
        """From what to what the columns change, of a row with these cells."""
        (values,) = self.numbers(v[None])
        changes: dict[str, tuple[Any, Any]] = {}
        for part in self.parts:
            after = values[part.features]
            if (after == self.x[part.features]).all():
                continue
            name = part.column.name
            before = cells.read(row[name])
            if isinstance(part.column, Nominal):
                code = cells.code_of(row[name], cells.code_table(part.column.categories, part.column.merged))
                before = before if math.isnan(code) else part.column.categories[int(code)]
                chosen = int((part.choices == after).all(axis=1).argmax())
                changes[name] = (before, part.categories[chosen])
            else:
                number = float(after[0])
                changes[name] = (before, part.column.cell(number) if isinstance(part.column, Numeric) else number)
        return changes
