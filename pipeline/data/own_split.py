"""Reading the column by which the user's rows are split from the user's file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.common.errors import UserError, short
from pipeline.config.params import OwnSplit
from pipeline.data.split_column import Kind, SplitColumn
from pipeline.data.tables import Layout, open_table
from pipeline.data.tables.columns import typed
from pipeline.data.tables.table import Table
from pipeline.encoding import dates


def read_split_column(path: Path, layout: Layout, split: OwnSplit, where: str) -> SplitColumn:
    """Read the column from the user's file. `where` is the key of params.yaml that names it."""
    table = open_table(path, layout)
    kind: Kind = "time" if split.time is not None else "group"
    name = split.column
    if name not in table.columns:
        raise UserError(f"{where}.{kind}: {path} has no column '{short(name)}'.")
    chunks = [chunk for piece in table.pieces([name]) for chunk in piece.column(name).chunks]
    cells = typed(table, name, chunks, report=False)
    missing = np.flatnonzero(pd.isna(cells))
    if missing.size:
        raise UserError(
            f"{path}: {table.place(int(missing[0]))}, column '{short(name)}': the {kind} is missing (in "
            f"{missing.size} rows); remove these rows, or split by another column ({where})."
        )
    if isinstance(cells, pd.Categorical):
        values = _moments(table, name, cells, where) if kind == "time" else cells.codes
    else:
        values = cells
    return SplitColumn(kind, name, np.unique(values, return_inverse=True)[1].astype(np.int64))


def _moments(table: Table, name: str, cells: pd.Categorical, where: str) -> np.ndarray:
    """Each cell as a moment in time; UserError names the first row that is none."""
    used = cells.remove_unused_categories()
    texts = [str(text) for text in used.categories]
    form = dates.form_of(texts)
    if form is None:
        raise UserError(
            f"{table.path}: column '{short(name)}': '{short(texts[0])}' and others are neither dates nor numbers, so "
            f"the rows have no order in time ({where}.time). Write dates as YYYY-MM-DD."
        )
    moments = np.array([dates.read(text, form) for text in texts])[used.codes]
    bad = np.flatnonzero(np.isnan(moments))
    if bad.size:
        row = int(bad[0])
        raise UserError(
            f"{table.path}: {table.place(row)}, column '{short(name)}': '{short(str(cells[row]))}' is not a date of "
            f"the form {form}, as the others are; correct it, or remove the row ({where}.time)."
        )
    return moments
