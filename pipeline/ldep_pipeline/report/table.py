"""A table of typed cells, independent of any format. `renderers` writes it as Markdown, LaTeX, HTML, CSV or text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from ldep_pipeline.metrics.metric import signed_text

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


Filled = tuple[Column, Callable[[Any], Cell]]
"""A column, and how its cell is made from what a row is about."""


def left(title: str, cell: Callable[[Any], Cell], *, wraps: bool = False) -> Filled:
    return Column(title, "left", wraps), cell


def right(title: str, cell: Callable[[Any], Cell]) -> Filled:
    return Column(title), cell


def of_columns(items: Iterable[Any], *columns: Filled, with_empty: bool = True) -> Table | None:
    """One row per item; None without any. with_empty: also columns without text in any row; the first always stays."""
    rows = [[cell(item) for _, cell in columns] for item in items]
    kept = [place for place in range(len(columns)) if with_empty or not place or any(row[place].text for row in rows)]
    return (
        Table([columns[place][0] for place in kept], [[row[place] for place in kept] for row in rows]) if rows else None
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


def spread_text(middle: float, spread: float) -> str:
    """`76.0 ± 1.4`; without a spread (a single fold, or a single data set) the first number alone."""
    return f"{middle:.1f}" if _is_missing(spread) else f"{middle:.1f} ± {spread:.1f}"


def _is_missing(value: float) -> bool:
    return bool(pd.isna(value))
