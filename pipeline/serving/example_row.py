"""A real training row as an example of a request, chosen so that its answer says something.

The means of all columns would be the worst example: nothing in such a row pulls the decision either way.
"""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

MOST_ROWS = 1000  # that are looked at


def choose(pipe: Pipeline, frame: pd.DataFrame, y: np.ndarray) -> dict[str, Any]:
    """Return a row that the model classifies correctly, without gaps, and as far from the mean as the typical row is.

    `pipe` begins with the encoder; `frame` holds raw rows. A condition that no row meets is dropped.
    """
    columns = pipe[0].columns_
    codes, _ = pipe[0].read_cells(frame)
    gaps = np.isnan([*codes.values()]).sum(axis=0)
    rows = np.flatnonzero(gaps == gaps.min())[:MOST_ROWS]
    X = pipe[0].transform(frame.iloc[rows])
    right = np.asarray(pipe[1:].predict(X) == np.asarray(y)[rows])
    if right.any():
        rows, X = rows[right], X[right]
    spread = np.nanstd(X, axis=0)
    distances = np.nansum(((X - np.nanmean(X, axis=0)) / np.where(spread > 0, spread, 1.0)) ** 2, axis=1)
    middle = np.argsort(distances, kind="stable")[len(distances) // 2]
    row = frame[columns].iloc[rows[middle]]
    return {name: _as_json(row[name]) for name in columns}


def _as_json(cell: Any) -> Any:
    """Return a cell as a client would write it in JSON."""
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return None
    if isinstance(cell, (bool, np.bool_)):
        return bool(cell)
    if isinstance(cell, (int, float, np.number)):
        number = float(cell)
        if math.isnan(number):
            return None
        return int(number) if number.is_integer() and abs(number) < 1e15 else number
    if isinstance(cell, (datetime.date, pd.Timestamp)):
        return cell.isoformat()
    return str(cell)
