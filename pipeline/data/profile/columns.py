"""The profile of one column: its kind, its gaps, what is done with it, and what about it needs attention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pipeline.encoding.choice import Choice
from pipeline.encoding.columns import Date, FittedColumn, Nominal

MANY_GAPS = 0.5


@dataclass(frozen=True)
class ColumnProfile:
    """What was found in a column.

    `treatment` says what the pipeline does with it, `remarks` what a user should look at. `drop` is the reason for
    which the column is left out, or None.
    """

    name: str
    kind: str
    gaps: int
    distinct: int
    example: str
    treatment: str
    remarks: tuple[str, ...] = ()
    drop: str | None = None


def column_profile(cells: pd.Series, choice: Choice) -> ColumnProfile:
    """Describe one column as the pipeline reads and encodes it."""
    present = cells[cells.notna()]
    gaps = len(cells) - len(present)
    remarks = list(choice.remarks)
    if MANY_GAPS * len(cells) < gaps < len(cells):
        remarks.append(f"{gaps / len(cells):.0%} of its cells are missing")
    return ColumnProfile(
        choice.name,
        choice.kind,
        gaps,
        len(np.unique(present.cat.codes if isinstance(present.dtype, pd.CategoricalDtype) else present)),
        "" if present.empty else _shown(present.iloc[0]),
        "left out" if choice.fitted is None else _treatment(choice.kind, choice.fitted, gaps),
        tuple(remarks),
        choice.drop,
    )


def _treatment(kind: str, column: FittedColumn, gaps: int) -> str:
    if isinstance(column, Date):
        words = ", ".join("days since 2000" if part == "days" else part for part in column.parts)
    elif kind == "boolean":
        words = "False is 0, True is 1"
    elif not isinstance(column, Nominal):
        words = "used as it is"
    elif column.encoding == "frequency":
        words = "the share of rows with its category"
    elif column.encoding == "one_hot":
        binary = len(column.categories) == 2
        words = f"1 for '{_shown(column.categories[1])}', else 0" if binary else "one feature per category"
        words += ", rare ones share one" if column.rare else ""
    else:
        words = "the position of its category"
    if gaps:
        words += "; gaps are filled" + (", and marked by a feature" if column.indicator else "")
    return words


def _shown(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 24 else f"{text[:21]}..."
