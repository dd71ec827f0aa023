"""The raw columns around one row as coordinates, of which the features of the model are an affine function.

A numeric column changes within the range of the training rows and on their grid, measured in their standard
deviations. A nominal column is a choice: it changes to another of its categories or not at all, and a change counts 1,
whatever the two categories are. Dates and texts stay as they are, and so do missing numbers if the column has a feature
that marks missing values.
There is one coordinate v per numeric column, and one per other category of a nominal column, which is 1 if that
category is chosen. Answers in these coordinates are as exact as those of the model itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ldep.answers._columns import RawColumns
from ldep.explain import Domain, Linear, Question, make_domain, parse
from ldep.model import FittedModel, Link
from ldep.table import FittedColumn, Nominal, Numeric, cells

# Relative difference from a whole number of steps that is rounding.
ON_GRID = 1e-7
# Up to so many steps beyond an answer its numbers are rounded to.
MOST_STEPS = 6
# A grid with steps of less than this share of a standard deviation is searched as if it had none, and rounded to.
FINE = 0.02


@dataclass(frozen=True)
class Limits:
    """What an answer may be, in raw columns.

    Numbers stay within the range of the training rows and on their grid, except in the columns `beyond`, or in all if
    that is True. The other attributes are those of `TableModel.counterfactual`.
    """

    frozen: tuple[str, ...] = ()
    integer: tuple[str, ...] = ()
    norm: str = "l2"
    bounds: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    beyond: tuple[str, ...] | bool = ()
    directions: Mapping[str, str] = field(default_factory=dict)
    constraints: tuple[str, ...] = ()
    costs: Mapping[str, float] = field(default_factory=dict)
    max_changes: int | None = None
    margin: float = 0.0
    probability: float | None = None
    answers: int = 1
    box: bool = False

    @classmethod
    def of(cls, **given: Any) -> Limits:
        """The limits that arguments describe; ValueError says which of them does not exist or has a wrong form."""
        known = {one.name for one in fields(cls)}
        unknown = sorted(set(given) - known)
        if unknown:
            raise ValueError(f"There is no limit {unknown[0]!r}; there are {', '.join(sorted(known))}.")
        for name in ("frozen", "integer", "constraints", "beyond"):
            if name in given and not isinstance(given[name], bool):
                value = given[name]
                if isinstance(value, str | Mapping) or not all(isinstance(one, str) for one in value):
                    raise ValueError(f"{name} must be a list of {'texts' if name == 'constraints' else 'columns'}.")
                given[name] = tuple(value)
        for name in ("bounds", "directions", "costs"):
            if name in given and not isinstance(given[name], Mapping):
                raise ValueError(f"{name} must map columns to values.")
        for name, sides in given.get("bounds", {}).items():
            if isinstance(sides, str) or len(sides) != 2 or not all(side is None or _is_number(side) for side in sides):
                raise ValueError(f"bounds of '{name}' must be two numbers, or None where there is no bound.")
        for name, cost in given.get("costs", {}).items():
            if not _is_number(cost) or not cost > 0:
                raise ValueError(f"costs: the cost of '{name}' is {cost!r}, and must be a positive number.")
        for name, way in given.get("directions", {}).items():
            if way not in ("up", "down"):
                raise ValueError(f"directions: '{name}' goes {way!r}; it can go 'up' or 'down'.")
        for name in ("answers", "max_changes"):
            value = given.get(name)
            if value is not None and not (_is_number(value) and value == int(value) and value >= 1):
                raise ValueError(f"{name} is {value!r}; it must be a whole number, at least 1.")
        for name in ("margin", "probability"):
            if given.get(name) is not None and not _is_number(given[name]):
                raise ValueError(f"{name} is {given[name]!r}; it must be a number.")
        if not isinstance(given.get("box", False), bool):
            raise ValueError(f"box is {given['box']!r}; it must be true or false.")
        return cls(**given)

    def named(self) -> list[tuple[str, str]]:
        """The columns that are named, with the argument that names each."""
        groups = ("frozen", "integer", "bounds", "directions", "costs")
        named = [(group, name) for group in groups for name in getattr(self, group)]
        return named + [("beyond", name) for name in (() if isinstance(self.beyond, bool) else self.beyond)]

    def stays(self, name: str) -> bool:
        """Whether the numbers of a column stay within the range of the training rows and on their grid."""
        return not self.beyond if isinstance(self.beyond, bool) else name not in self.beyond

    def with_gaps_frozen(self, row: pd.Series) -> Limits:
        """Keep missing cells of integer columns: a mean fills them, from which no whole steps lead to whole numbers."""
        gaps = [name for name in self.integer if cells.read(row[name]) is None]
        return replace(self, frozen=(*self.frozen, *gaps))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


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
                codes = np.array(sorted(set(cells.code_table(column.categories).values())))
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
        limits, n = self.limits, len(self.start)
        frozen, costs, low, high = np.zeros(n, dtype=bool), np.ones(n), np.full(n, -np.inf), np.full(n, np.inf)
        steps, categories, directions = {}, {}, {}
        for part in self.parts:
            name = part.column.name
            if not len(part.at):
                continue
            costs[part.at] = limits.costs.get(name, 1.0)
            if name in limits.frozen:
                frozen[part.at] = True
            elif part.column.categories is not None:
                categories[tuple(part.at.tolist())] = np.vstack([np.zeros(len(part.at)), np.eye(len(part.at))])
            else:
                (at,), feature = part.at, part.features.start
                mean, scale = self.raw.mean[feature], self.raw.scale[feature]
                low[at], high[at] = ((side - mean) / scale for side in self.sides(part))
                if (step := self.step(part)) / scale >= FINE or name in limits.integer:
                    steps[int(at)] = step / float(scale)
                if name in limits.directions:
                    directions[int(at)] = limits.directions[name]
        return make_domain(
            [f"v{number}" for number in range(n)],
            norm=limits.norm,
            frozen=frozen,
            bounds=(low, high),
            integer=steps,
            categories=categories,
            directions=directions,
            constraints=self.constraints(),
            costs=dict(enumerate(costs.tolist())),
            max_changes=limits.max_changes,
        )

    def sides(self, part: ColumnCoordinates) -> tuple[float, float]:
        """The least and the largest number that a numeric column may have; the row's own number always may."""
        name, own = part.column.name, float(self.x[part.features.start])
        asked = self.limits.bounds.get(name, (None, None))
        known = self.raw.ranges.get(name) if self.limits.stays(name) else None
        low = asked[0] if asked[0] is not None else (-np.inf if known is None else min(known.least, own))
        high = asked[1] if asked[1] is not None else (np.inf if known is None else max(known.largest, own))
        return float(low), float(high)

    def step(self, part: ColumnCoordinates) -> float:
        """The step of the grid on which the numbers of a column change; 0 if there is none or the row is not on it."""
        name, own = part.column.name, float(self.x[part.features.start])
        known = self.raw.ranges.get(name) if self.limits.stays(name) else None
        if name in self.limits.integer:
            return 1.0
        if known is None or known.step == 0:
            return 0.0
        steps = (own - known.least) / known.step
        return known.step if abs(steps - np.rint(steps)) <= ON_GRID * max(1.0, abs(steps)) else 0.0

    def constraints(self) -> list[Linear]:
        """The constraints in coordinates. A column that has none counts as it is."""
        places = {part.column.name: part for part in self.parts if part.column.categories is None}
        found = []
        for text in self.limits.constraints:
            for one in parse(text, places):
                coefficients: dict[str, float] = {}
                limit = one.limit
                for name, coefficient in one.coefficients.items():
                    part, feature = places[name], places[name].features.start
                    if len(part.at):
                        coefficients[f"v{part.at[0]}"] = coefficient * float(self.raw.scale[feature])
                        limit -= coefficient * float(self.raw.mean[feature])
                    else:
                        limit -= coefficient * float(self.x[feature])
                follower = places[one.follower] if one.follower is not None else None
                at = f"v{follower.at[0]}" if follower is not None and len(follower.at) else None
                found.append(one._replace(coefficients=coefficients, limit=limit, follower=at))
        return found

    def rounded(self, v: np.ndarray, accepted: Callable[[np.ndarray], bool]) -> np.ndarray:
        """The answer with numbers on their fine grids, a step or a few beyond it; as it is if none of these will do."""
        grids = [(part, self.step(part)) for part in self.parts if len(part.at) and part.column.categories is None]
        for beyond in range(MOST_STEPS):
            moved = v.copy()
            for part, step in grids:
                (at,), scale = part.at, float(self.raw.scale[part.features.start])
                if step == 0 or v[at] == self.start[at]:
                    continue
                steps = (v[at] - self.start[at]) * scale / step
                whole = np.rint(steps)
                if abs(steps - whole) > ON_GRID * max(1.0, abs(steps)):
                    whole = np.sign(steps) * (np.ceil(abs(steps)) + beyond)
                moved[at] = self.start[at] + whole * step / scale
            if accepted(moved):
                return moved
        return v

    def question(
        self,
        model: FittedModel,
        decide: Callable[[np.ndarray], np.ndarray],
        classes: np.ndarray,
        seconds: float,
        link: Link | None,
    ) -> Question:
        """What is asked: `decide` gives the decision values of rows before scaling, as the predictions have them.

        The link gives the probabilities of these values with the thresholds of the model.
        """
        within = model.after(self.matrix, self.features, self.start)
        question = Question(within, lambda V: decide(self.numbers(V)), classes, self.domain(), seconds)
        return question.demanding(self.limits.margin, self.limits.probability, link)

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
            if step := self.step(part):
                count = (values - self.x[feature]) / step
                on_grid = np.abs(count - np.rint(count)) <= ON_GRID * np.maximum(1.0, np.abs(count))
                # Sums of steps such as 0.1 collect rounding errors; decimals do not.
                decimals = max(0, -math.floor(math.log10(step)) + 6)
                values = np.where(on_grid, np.round(self.x[feature] + np.rint(count) * step, decimals), values)
            X[changed, feature] = values
        return X

    def ranges(self, low: np.ndarray, high: np.ndarray) -> dict[str, tuple[float, float]]:
        """The ends of a box of coordinates in the units of the columns."""
        ranges = {}
        for part in self.parts:
            if len(part.at) and part.column.categories is None and low[part.at[0]] < high[part.at[0]]:
                feature = part.features.start
                ends = np.array([low[part.at[0]], high[part.at[0]]]) * self.raw.scale[feature] + self.raw.mean[feature]
                ranges[part.column.name] = float(ends[0]), float(ends[1])
        return ranges

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
