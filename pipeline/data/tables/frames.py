"""Raw cells to a frame: numbers as float64, nominal values as categories in their declared order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pipeline.common.errors import UserError


def categorical(cells: Sequence[object], categories: Sequence[str]) -> pd.Categorical:
    """Nominal cells (strings, None for missing); a value that is not declared is an error of the caller."""
    codes = {category: code for code, category in enumerate(categories)}
    return pd.Categorical.from_codes(
        np.array([-1 if cell is None else codes[str(cell)] for cell in cells], dtype=np.int64),
        categories=pd.Index(list(categories), dtype=object),
    )


def target_last(frame: pd.DataFrame, target: str, ignore: Sequence[str], where: str) -> pd.DataFrame:
    """Drop the ignored columns and move the target, as categories that occur, to the end."""
    columns = [str(column) for column in frame.columns]
    repeated = sorted({column for column in columns if columns.count(column) > 1})
    if repeated:
        raise UserError(f"{where}: the column '{repeated[0]}' appears twice; give each column its own name.")
    if target not in columns:
        shown = ", ".join(columns[:20]) + (", ..." if len(columns) > 20 else "")
        raise UserError(f"{where}: there is no target column '{target}'; the columns are: {shown}.")
    frame = frame[[column for column in columns if column != target and column not in ignore] + [target]]
    if frame.shape[1] < 2:
        raise UserError(f"{where}: there is no feature beside the target '{target}'.")
    labels = frame[target]
    if str(labels.dtype) != "category":  # a numeric target: 0.0 and 1.0 are the classes '0' and '1'
        names = [None if pd.isna(label) else f"{label:.15g}" for label in labels]
        labels = pd.Series(categorical(names, sorted({n for n in names if n is not None})), index=frame.index)
    return frame.assign(**{target: labels.cat.remove_unused_categories()})
