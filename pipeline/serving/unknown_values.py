"""Values that the model takes as missing, because training has seen none like them: how an answer reports them.

A report names, by column, the rows with such a value. The encoder makes it while it reads the cells.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from pipeline.common.errors import short
from pipeline.encoding.cells import CellError

Report = dict[str, np.ndarray]
LONGEST_HEADER = 2000  # characters; servers and proxies refuse headers of more than some thousand


def columns_by_row(report: Report, count: int) -> list[list[str]]:
    """Return for each of `count` rows the columns whose value was taken as missing."""
    columns: list[list[str]] = [[] for _ in range(count)]
    for name, rows in report.items():
        for row in rows.tolist():
            columns[row].append(name)
    return columns


def refuse(frame: pd.DataFrame, report: Report) -> None:
    """Raise CellError for the first row that has a value taken as missing."""
    if not report:
        return
    row, column = min((int(rows[0]), name) for name, rows in report.items())
    value = short(repr(frame[column].iloc[row]))
    raise CellError(
        row, column, f"{value} is not a value that the model knows; strict mode does not take it as missing."
    )


def header(report: Report) -> str:
    """Return the number of rows by column, as JSON in ASCII, short enough for an HTTP header."""
    counts: dict[str, int] = {}
    for name, rows in report.items():
        longer = {**counts, name: len(rows)}
        if len(json.dumps(longer)) > LONGEST_HEADER:
            break
        counts = longer
    return json.dumps(counts)
