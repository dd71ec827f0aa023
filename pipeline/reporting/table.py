"""A table of typed cells, independent of any format. `renderers` writes it as Markdown, LaTeX, HTML, CSV or text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

MISSING = "–"
Align = Literal["left", "right"]
Style = Literal["plain", "code", "good", "bad", "neutral"]


@dataclass(frozen=True)
class Column:
    title: str
    align: Align = "right"
    wraps: bool = False
    """Whether long text in this column may be broken into several lines."""


@dataclass(frozen=True)
class Cell:
    """The text that a reader sees, and the value behind it. Formats that have no use for a field ignore it."""

    text: str = ""
    value: float | str | None = None
    """What the cell is sorted by, and what goes into a CSV file; the text, if it is None. "" sorts last."""
    best: bool = False
    """The best of its row, set in bold."""
    note: str = ""
    """A second, smaller line."""
    style: Style = "plain"
    """`good`, `bad` and `neutral` are badges."""
    family: str = ""
    """The family of the model that the cell names, which decides the colour of its dot."""
    link: str = ""
    """The page to which the text leads."""


@dataclass(frozen=True)
class Table:
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    summary_rows: Sequence[Sequence[Cell]] = ()
    """Rows over all the others. They stay at the bottom when a reader sorts the table."""

    def __post_init__(self) -> None:
        for row in self.all_rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row has {len(row)} cells, but the table has {len(self.columns)} columns")

    @property
    def all_rows(self) -> list[Sequence[Cell]]:
        return [*self.rows, *self.summary_rows]


def without_empty_columns(table: Table) -> Table:
    """The same table without columns that have no text in any row; the first column stays."""
    kept = [
        place
        for place in range(len(table.columns))
        if place == 0 or not table.rows or any(row[place].text for row in table.all_rows)
    ]
    return Table(
        [table.columns[place] for place in kept],
        [[row[place] for place in kept] for row in table.rows],
        [[row[place] for place in kept] for row in table.summary_rows],
    )


def missing(text: str = MISSING) -> Cell:
    """A cell without a value, in a column of numbers."""
    return Cell(text, "")


def number(value: float | None, digits: int = 1) -> Cell:
    """A number with so many digits after the point; an empty cell for None and NaN."""
    if value is None or _is_missing(value):
        return missing("")
    return Cell(f"{value:.{digits}f}", value)


def signed(value: float) -> Cell:
    """A difference with its sign."""
    return Cell(signed_text(value), value)


def signed_text(value: float, digits: int = 1) -> str:
    """So many digits after the point, with a sign unless it is zero."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def spread_text(middle: float, spread: float) -> str:
    """`76.0 ± 1.4`; without a spread (a single fold, or a single data set) the first number alone."""
    return f"{middle:.1f}" if _is_missing(spread) else f"{middle:.1f} ± {spread:.1f}"


def from_frame(frame: pd.DataFrame, float_format: str = ".4g") -> Table:
    """One column per column of the frame, without its index; numbers are aligned to the right."""
    columns = [
        Column(str(name), "right" if pd.api.types.is_numeric_dtype(frame[name]) else "left") for name in frame.columns
    ]
    rows = [[_plain(value, float_format) for value in row] for row in frame.itertuples(index=False, name=None)]
    return Table(columns, rows)


def _plain(value: Any, float_format: str) -> Cell:
    if value is None or value is pd.NA or value is pd.NaT:
        return Cell()
    if isinstance(value, float):
        return Cell() if math.isnan(value) else Cell(format(value, float_format), float(value))
    return Cell(str(value))


def _is_missing(value: float) -> bool:
    return bool(pd.isna(value))
