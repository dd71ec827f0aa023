"""A whole table as a frame for training: numbers as float64, nominal values as categories in their order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.common.errors import UserError, listed
from pipeline.data.tables.columns import typed
from pipeline.data.tables.layout import Layout
from pipeline.data.tables.open import open_table


def read_frame(
    path: Path, target: str, ignore: Collection[str] = (), layout: Layout | None = None, where: str | None = None
) -> pd.DataFrame:
    """Read a file, without the ignored columns and with the target last; `where` names the file in errors."""
    table = open_table(path, layout, known=[target])
    where = where or str(path)
    if target not in table.columns:
        raise UserError(f"{where}: there is no target column '{target}'; the columns are: {listed(table.columns)}.")
    left_out = {target, *ignore}
    features = [name for name in table.columns if name not in left_out]
    if not features:
        raise UserError(f"{where}: there is no feature beside the target '{target}'.")
    columns = [*features, target]
    pieces = list(table.pieces(columns))
    series: dict[str, Any] = {}
    for name in columns:
        chunks = [chunk for piece in pieces for chunk in piece.column(name).chunks]
        series[name] = typed(table, name, chunks, report=name != target)
    frame = pd.DataFrame(series)
    return frame.assign(**{target: _labels(frame[target])})


def categorical(values: Sequence[object], categories: Sequence[str]) -> pd.Categorical:
    """Nominal cells (text, None for missing); KeyError if a cell is none of the categories."""
    codes = {category: code for code, category in enumerate(categories)}
    return pd.Categorical.from_codes(
        np.array([-1 if value is None else codes[str(value)] for value in values], dtype=np.int64),
        categories=pd.Index(list(categories), dtype=object),
    )


def _labels(target: pd.Series) -> pd.Series:
    """The classes that occur, as text: 0.0 and 1.0 are the classes '0' and '1'."""
    if str(target.dtype) != "category":
        names = [None if pd.isna(label) else f"{label:.15g}" for label in target]
        target = pd.Series(categorical(names, sorted({n for n in names if n is not None})), index=target.index)
    return target.cat.remove_unused_categories()
