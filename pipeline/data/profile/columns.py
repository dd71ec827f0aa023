"""The profile of one column: its kind, its gaps, and what about it needs attention."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pipeline.data.profile import dates

# With fewer rows than this, distinct values prove nothing.
FEWEST_ROWS = 20
# The share of distinct values from which a column of text says which row it is, not what the row is like.
NEARLY_UNIQUE = 0.9
# A nominal column with more categories than this becomes a coarse number: its codes have no natural order.
MANY_CATEGORIES = 20
MANY_GAPS = 0.5
IDENTIFIER = re.compile(r"(^|[\s_.-])(id|ids|uuid|guid|key|index|row|rownum|nr|no|number|serial)$", re.IGNORECASE)
CAMEL_IDENTIFIER = re.compile(r"[a-z](Id|ID|Key|Nr|No|Number)$")


@dataclass(frozen=True)
class ColumnProfile:
    """What was found in a column.

    `treatment` says what the pipeline does with it, `remarks` what a user should look at. `drop` is the reason to
    leave the column out, or None.
    """

    name: str
    kind: str
    gaps: int
    distinct: int
    example: str
    treatment: str
    remarks: tuple[str, ...] = ()
    drop: str | None = None


def column_profile(name: str, cells: pd.Series) -> ColumnProfile:
    """Look at one column as the pipeline reads it: float64, or categories."""
    present = cells[cells.notna()]
    distinct, gaps = int(present.nunique()), int(cells.isna().sum())
    if isinstance(cells.dtype, pd.CategoricalDtype):
        kind, treatment, remarks = _nominal(present, distinct)
    else:
        kind, treatment, remarks = "number", "used as it is", []
    if gaps > MANY_GAPS * len(cells):
        remarks.append(f"{gaps / len(cells):.0%} of its cells are missing")
    if gaps:
        treatment += "; gaps are filled"
    example = "" if present.empty else _shown(present.iloc[0])
    reason = _reason_to_drop(name, kind, present, distinct)
    return ColumnProfile(name, kind, gaps, distinct, example, treatment, tuple(remarks), reason)


def _nominal(present: pd.Series, distinct: int) -> tuple[str, str, list[str]]:
    texts = [str(category) for category in present.cat.categories]
    if set(texts) <= {"False", "True"}:
        return "truth value", "False is 0, True is 1", []
    form = dates.form_of(texts)
    if form is not None:
        return "date", "coded by the order of its text", [f"dates ({form}) are read as text; new dates are unknown"]
    if distinct > MANY_CATEGORIES:
        remark = f"{distinct} categories become the codes 0 to {distinct - 1}, in alphabetical order"
        return "nominal", "coded in alphabetical order", [remark]
    return "nominal", "coded in alphabetical order", []


def _reason_to_drop(name: str, kind: str, present: pd.Series, distinct: int) -> str | None:
    if present.empty:
        return "it has no value in any row"
    if distinct == 1:
        return "it has the same value in every row"
    if len(present) < FEWEST_ROWS:
        return None
    if kind == "nominal" and distinct >= NEARLY_UNIQUE * len(present):
        return f"nearly every row has a text of its own ({distinct} texts in {len(present)} rows)"
    if kind == "number" and distinct == len(present) and _is_identifier(name, present.to_numpy()):
        return "it numbers the rows: whole numbers, all different"
    return None


def _is_identifier(name: str, values: np.ndarray) -> bool:
    """Whether distinct whole numbers follow each other, or have the name of an identifier."""
    if not np.all(values == np.round(values)):
        return False
    steps = np.diff(values)
    in_order = bool(np.all(steps > 0) or np.all(steps < 0))
    consecutive = values.max() - values.min() < 1.05 * len(values)
    return in_order or consecutive or is_identifier_name(name)


def is_identifier_name(name: str) -> bool:
    return bool(IDENTIFIER.search(name.strip()) or CAMEL_IDENTIFIER.search(name.strip()))


def _shown(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 24 else f"{text[:21]}..."
