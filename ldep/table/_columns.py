"""The fitted columns of an encoder. A column turns its cells into codes, and the codes into features.

A code is one number per cell, NaN if the cell is missing: the number itself, the index of a category, or the moment of
a date. Of a text it is one number per term. All features of a missing cell are NaN, so that the imputer fills them,
except for its indicator.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ldep.table import _cells as cells
from ldep.table import _dates as dates
from ldep.table import _words as words
from ldep.table._spelling import Spelling

ENCODINGS = ("ordinal", "one_hot", "frequency")


@dataclass(frozen=True)
class Numeric:
    """A number, as it is. `spelling` reads strings that are not written as programs write numbers."""

    kind: ClassVar[str] = "numeric"
    name: str
    indicator: bool = False
    spelling: Spelling | None = None
    categories: ClassVar[None] = None
    has_range: ClassVar[bool] = True

    def codes(self, column: pd.Series) -> np.ndarray:
        return cells.numbers_of(column) if self.spelling is None else cells.values_of(column, self.spelling.read)

    def features(self, codes: np.ndarray) -> np.ndarray:
        return codes[:, None]

    def labels(self) -> list[str]:
        return [self.name]

    def typical(self, fill: Sequence[float]) -> float | str:
        return self.cell(0.0 if math.isnan(fill[0]) else float(f"{fill[0]:.4g}"))

    def cell(self, number: float) -> float | str:
        """A cell that is read as this number."""
        return number if self.spelling is None else self.spelling.write(number)

    def to_json(self) -> dict[str, Any]:
        return {} if self.spelling is None else {"spelling": self.spelling.to_json()}


@dataclass(frozen=True)
class Nominal:
    """A category: each has one row in a table of features.

    ordinal: its index. one_hot: one feature per category, 1 for its own; a single feature if there are two. frequency:
    its share of the fitted rows, which `shares` holds. The `rare` categories of one_hot share the last feature. The
    spellings in `merged` are read as the category beside them.
    """

    kind: ClassVar[str] = "nominal"
    has_range: ClassVar[bool] = False
    name: str
    categories: tuple[str, ...]
    encoding: str = "ordinal"
    shares: tuple[float, ...] = ()
    rare: tuple[str, ...] = ()
    indicator: bool = False
    merged: cells.Merged = ()

    def __post_init__(self) -> None:
        if self.encoding not in ENCODINGS:
            raise ValueError(f"column '{self.name}': the encoding is {self.encoding!r}, none of {', '.join(ENCODINGS)}")
        if len(self.shares) != (len(self.categories) if self.encoding == "frequency" else 0):
            raise ValueError(f"column '{self.name}': {len(self.categories)} categories with {len(self.shares)} shares")
        if self.rare and (self.encoding != "one_hot" or not set(self.rare) < set(self.categories)):
            raise ValueError(f"column '{self.name}': the rare categories are not some of one_hot's")
        known = set(self.categories)
        for spelling, category in self.merged:
            if category not in known or spelling in known:
                raise ValueError(f"column '{self.name}': {spelling!r} is not another spelling of a category")

    def codes(self, column: pd.Series) -> np.ndarray:
        return cells.codes_of(column, self.categories, self.merged)

    @cached_property
    def values(self) -> np.ndarray:
        """The number of each category: its share, its index, or the position of the feature that it has in one_hot."""
        if self.encoding == "frequency":
            return np.array(self.shares)
        if not self.rare:
            return np.arange(float(len(self.categories)))
        rare = set(self.rare)
        is_rare = np.array([category in rare for category in self.categories])
        return np.where(is_rare, (~is_rare).sum(), np.cumsum(~is_rare) - 1).astype(np.float64)

    @cached_property
    def compared(self) -> np.ndarray:
        """The numbers of the categories for which one_hot has a feature."""
        numbers = np.unique(self.values)
        return numbers[1:] if len(numbers) == 2 else numbers

    def features(self, codes: np.ndarray) -> np.ndarray:
        """The row of each category in the table that the encoding defines; NaN for a missing cell."""
        missing = np.isnan(codes)
        values = np.append(self.values, np.nan)[np.where(missing, -1, codes).astype(np.int64)]
        if self.encoding != "one_hot":
            return values[:, None]
        return np.where(missing[:, None], np.nan, values[:, None] == self.compared)

    def labels(self) -> list[str]:
        if self.encoding == "one_hot":
            rare = set(self.rare)
            shown = [category for category in self.categories if category not in rare]
            shown += ["other"] if rare else []
            return [f"{self.name}={shown[int(number)]}" for number in self.compared]
        return [self.name if self.encoding == "ordinal" else f"{self.name}:frequency"]

    def typical(self, fill: Sequence[float]) -> str | None:
        if not self.categories:
            return None
        rows = self.features(np.arange(float(len(self.categories))))
        distances = np.abs(rows - np.nan_to_num(fill[: rows.shape[1]])).sum(axis=1)
        return self.categories[int(np.argmin(distances))]

    def to_json(self) -> dict[str, Any]:
        content: dict[str, Any] = {"categories": list(self.categories), "encoding": self.encoding}
        content |= {"shares": list(self.shares)} if self.shares else {}
        content |= {"rare": list(self.rare)} if self.rare else {}
        return content | ({"merged": dict(self.merged)} if self.merged else {})


@dataclass(frozen=True)
class Date:
    """A moment: its year, month, day of the week, days since 2000 and, if there are times, hour of the day."""

    kind: ClassVar[str] = "date"
    has_range: ClassVar[bool] = True
    name: str
    form: str
    parts: tuple[str, ...]
    indicator: bool = False
    categories: ClassVar[None] = None

    def __post_init__(self) -> None:
        if self.form not in dates.FORMS or not self.parts or not set(self.parts) <= set(dates.PARTS):
            raise ValueError(f"column '{self.name}': {self.form!r} with {self.parts} is not a form of dates")

    def codes(self, column: pd.Series) -> np.ndarray:
        return cells.values_of(column, lambda cell: dates.read(cell, self.form))

    def features(self, codes: np.ndarray) -> np.ndarray:
        return date_features(codes, self.parts)

    def labels(self) -> list[str]:
        return [f"{self.name}:{part}" for part in self.parts]

    def typical(self, fill: Sequence[float]) -> str:
        days = fill[self.parts.index("days")] if "days" in self.parts else math.nan
        return (dates.ORIGIN + datetime.timedelta(days=0 if math.isnan(days) else round(days))).date().isoformat()

    def to_json(self) -> dict[str, Any]:
        return {"form": self.form, "parts": list(self.parts)}


@dataclass(frozen=True)
class Text:
    """Prose: for each term whether the text contains it. The module `words` says what a term is."""

    kind: ClassVar[str] = "text"
    has_range: ClassVar[bool] = False
    name: str
    terms: tuple[str, ...]
    indicator: bool = False
    categories: ClassVar[None] = None

    def __post_init__(self) -> None:
        if not self.terms or len(set(self.terms)) < len(self.terms):
            raise ValueError(f"column '{self.name}': the terms are {len(set(self.terms))} different ones")
        for term in self.terms:
            if term not in words.terms_of(term):
                raise ValueError(f"column '{self.name}': {term!r} is not a term of a text")

    @cached_property
    def places(self) -> dict[str, int]:
        return {term: place for place, term in enumerate(self.terms)}

    def codes(self, column: pd.Series) -> np.ndarray:
        """One row per cell and one column per term: 1 if the text contains it, else 0; NaN if the cell is missing."""
        found: list[list[int]] = []

        def place_of(cell: object) -> float:
            text = cells.read_text(cell)
            if text is None:
                return math.nan
            found.append([self.places[term] for term in words.terms_of(text) if term in self.places])
            return float(len(found) - 1)

        places = cells.values_of(column, place_of)
        contains = np.zeros((len(places), len(self.terms)))
        for row, place in zip(contains, places):
            if math.isnan(place):
                row[:] = math.nan
            else:
                row[found[int(place)]] = 1.0
        return contains

    def features(self, codes: np.ndarray) -> np.ndarray:
        return codes

    def labels(self) -> list[str]:
        return [f"{self.name} ‘{term}’" for term in self.shown]

    @property
    def shown(self) -> list[str]:
        """The terms as a reader should see them: one that may be the beginning of a longer word ends with dots."""
        return [f"{term}…" if len(term) == words.LENGTH else term for term in self.terms]

    def typical(self, fill: Sequence[float]) -> str | None:
        return " ".join(term for term, share in zip(self.terms, fill) if share > 0.5) or None

    def to_json(self) -> dict[str, Any]:
        return {"terms": list(self.terms)}


FittedColumn = Numeric | Nominal | Date | Text


def labels(columns: Sequence[FittedColumn]) -> list[tuple[str, str]]:
    """Return the name of each feature, in order and all different, with the raw column that it comes from."""
    taken: set[str] = set()
    pairs = []
    for column in columns:
        for label in [*column.labels(), *([f"{column.name}:missing"] if column.indicator else [])]:
            unique, count = label, 2
            while unique in taken:
                unique, count = f"{label} ({count})", count + 1
            taken.add(unique)
            pairs.append((unique, column.name))
    return pairs


def per_cell(codes: np.ndarray) -> np.ndarray:
    """One number per cell, NaN if it is missing: its code or, of a text, how many terms it contains."""
    return codes if codes.ndim == 1 else codes.sum(axis=1)


def features(columns: Sequence[FittedColumn], codes: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """Return the features of all columns side by side, NaN where a cell is missing."""
    parts: list[np.ndarray] = [np.empty((rows, 0))]
    for column, of_column in zip(columns, codes):
        parts.append(column.features(of_column))
        if column.indicator:
            parts.append(np.isnan(per_cell(of_column)).astype(np.float64)[:, None])
    return np.hstack(parts)


def date_features(moments: np.ndarray, parts: Sequence[str]) -> np.ndarray:
    """Return the numbers that a model sees of each moment: one column per part, NaN where the moment is missing."""
    days = np.floor(moments / dates.DAY)
    year, month = _year_and_month(days)
    values = {
        "year": year,
        "month": month,
        "weekday": (days + 5) % 7,  # Monday is 0; 2000 began on a Saturday
        "days": days,
        "hour": (moments - days * dates.DAY) / 3600,
    }
    return np.column_stack([values[part] for part in parts])


def _year_and_month(days: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The proleptic Gregorian year and month, in floating point, as ONNX and C compute them too.

    Years begin in March here, so that the leap day is the last day of a year; there are 146,097 days in 400 years.
    """
    shifted = days + 730_425  # since the first of March of the year 0
    era = np.floor(shifted / 146_097)
    day_of_era = shifted - era * 146_097
    leaps = np.floor(day_of_era / 1460) - np.floor(day_of_era / 36_524) + np.floor(day_of_era / 146_096)
    year_of_era = np.floor((day_of_era - leaps) / 365)
    day_of_year = day_of_era - (365 * year_of_era + np.floor(year_of_era / 4) - np.floor(year_of_era / 100))
    march_month = np.floor((5 * day_of_year + 2) / 153)
    in_next_year = np.floor(march_month / 10)  # January and February
    return era * 400 + year_of_era + in_next_year, march_month + 3 - 12 * in_next_year


def to_json(column: FittedColumn) -> dict[str, Any]:
    """Return a column as plain values."""
    return {"name": column.name, "kind": column.kind, "indicator": column.indicator, **column.to_json()}


def from_json(value: Mapping[str, Any]) -> FittedColumn:
    """Read what `to_json` returned; ValueError, KeyError or TypeError if it is something else."""
    name, kind, indicator = value["name"], value["kind"], value["indicator"]
    if not isinstance(name, str) or not isinstance(indicator, bool):
        raise ValueError(f"a column has the name {name!r} and the indicator {indicator!r}")
    if kind == "numeric":
        return Numeric(name, indicator, Spelling(**value["spelling"]) if "spelling" in value else None)
    if kind == "date":
        return Date(name, value["form"], tuple(value["parts"]), indicator)
    if kind == "text":
        if not all(isinstance(term, str) for term in value["terms"]):
            raise ValueError(f"column '{name}': a term is not a string")
        return Text(name, tuple(value["terms"]), indicator)
    if kind != "nominal":
        raise ValueError(f"column '{name}': there is no kind {kind!r}")
    categories, shares = value["categories"], value.get("shares", [])
    if not all(isinstance(category, str) for category in categories):
        raise ValueError(f"column '{name}': a category is not a string")
    if not all(isinstance(share, float) and math.isfinite(share) for share in shares):
        raise ValueError(f"column '{name}': a share is not a number")
    merged = tuple(value.get("merged", {}).items())
    if not all(isinstance(category, str) for _, category in merged):
        raise ValueError(f"column '{name}': a spelling stands for no category")
    rare = tuple(value.get("rare", ()))
    return Nominal(name, tuple(categories), value["encoding"], tuple(shares), rare, indicator, merged)
