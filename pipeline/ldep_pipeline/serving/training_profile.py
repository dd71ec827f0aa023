"""The training profile: how the values of each raw column were distributed when the model was fitted.

It is stored beside the model, so that later rows can be compared with the rows of training (`ldep score --check`).
It also holds one real row, which documentation and the server's first request use as an example. It is chosen so that
its answer says something: the means of all columns would be the worst example, as nothing in such a row pulls the
decision either way.

The values of a column are counted in bins. A nominal column has one bin per category, and one for all that are rare.
Any other column has bins between quantiles; a value that is more frequent than a bin gets one of its own.
"""

from __future__ import annotations

import datetime
import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from ldep.table import TableEncoder
from ldep_pipeline.common.files import write_json

FILE = "training_profile.json"
QUANTILES = 10
FEW_VALUES = 20  # a column with at most so many distinct numbers has one bin for each
MOST_CATEGORIES = 50  # with a bin of their own
MOST_EXAMPLES = 1000  # rows that are looked at for an example


@dataclass(frozen=True)
class ColumnProfile:
    """One raw column: the edges of its bins or the codes of its categories, and the counts of the training rows.

    Attributes
    ----------
    name, kind : str
        The column, and what it holds: "numeric", "nominal" or another kind of the encoder.
    edges : list of float
        Bin k begins at edge k - 1 and ends before edge k. Empty for a nominal column.
    codes : list of int
        The categories with a bin of their own, by their position among the encoder's. The last bin is for all others.
    counts : list of int
        Cells by bin.
    missing : int
        Cells without a value.
    unknown : int
        Cells whose value was taken as missing, such as a date with a typing error.
    single : int
        Categories that occur in one row. Their share estimates how many later rows have a category never seen.
    """

    name: str
    kind: str
    edges: list[float]
    codes: list[int]
    counts: list[int]
    missing: int
    unknown: int
    single: int

    def count(self, codes: np.ndarray) -> np.ndarray:
        """Return how many of these codes lie in each bin; NaN lies in none."""
        values = codes[~np.isnan(codes)]
        if self.kind != "nominal":
            return np.bincount(np.searchsorted(self.edges, values, side="right"), minlength=len(self.counts))
        positions = {code: position for position, code in enumerate(self.codes)}
        found, counts = np.unique(values, return_counts=True)
        totals = np.zeros(len(self.codes) + 1, dtype=np.int64)
        for code, count in zip(found.tolist(), counts.tolist()):
            totals[positions.get(int(code), len(self.codes))] += count
        return totals


@dataclass(frozen=True)
class TrainingProfile:
    """The profile of all columns, the number of training rows, and a real row of them; None if it is withheld."""

    rows: int
    columns: list[ColumnProfile]
    example: dict[str, Any] | None

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, asdict(self))

    @classmethod
    def load(cls, folder: Path) -> TrainingProfile | None:
        """Read the profile in a folder; None if there is none. ValueError says that it cannot be read."""
        try:
            content = json.loads((folder / FILE).read_text(encoding="utf-8"))
            columns = [ColumnProfile(**column) for column in content["columns"]]
            return cls(int(content["rows"]), columns, content["example"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{folder / FILE} cannot be read: {error!r}.") from None


def profile_of(encoder: TableEncoder, frame: pd.DataFrame, example: dict[str, Any] | None = None) -> TrainingProfile:
    """Return the profile of raw rows as a fitted encoder reads them."""
    codes, report = encoder.read_cells(frame)
    kinds = encoder.kinds
    columns = [_profile(name, kinds[name], codes[name], len(report.get(name, ()))) for name in codes]
    return TrainingProfile(len(frame), columns, example)


def _profile(name: str, kind: str, codes: np.ndarray, unknown: int) -> ColumnProfile:
    values = codes[~np.isnan(codes)]
    missing = len(codes) - len(values) - unknown
    distinct, counts = np.unique(values, return_counts=True)
    single = int((counts == 1).sum()) if kind == "nominal" else 0
    frequent: list[int] = []
    edges: list[float] = []
    if kind == "nominal":
        by_count = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
        frequent = [int(code) for code in distinct[by_count]]
    elif len(distinct):
        edges = _edges(values, distinct)
    bins = max(len(edges), len(frequent)) + 1
    empty = ColumnProfile(name, kind, edges, frequent, [0] * bins, missing, unknown, single)
    return replace(empty, counts=empty.count(codes).tolist())


def _edges(values: np.ndarray, distinct: np.ndarray) -> list[float]:
    """Return the edges of the bins: the values themselves if there are few, else quantiles."""
    if len(distinct) <= FEW_VALUES:
        return [*distinct.tolist(), float(np.nextafter(distinct[-1], np.inf))]  # the last bin is above all values
    # "lower" gives values that occur: interpolation between huge values could overflow.
    quantiles = np.quantile(values, np.arange(1, QUANTILES) / QUANTILES, method="lower")
    edges, repeats = np.unique(quantiles, return_counts=True)
    # A value that is more frequent than a bin is several quantiles at once: its bin begins and ends with it.
    after = np.nextafter(edges[repeats > 1], np.inf)
    return np.unique(np.concatenate([edges, after])).tolist()


def choose_example(pipe: Pipeline, frame: pd.DataFrame, y: np.ndarray) -> dict[str, Any]:
    """Return a row that the model classifies correctly, without gaps, and as far from the mean as the typical row is.

    `pipe` begins with the encoder; `frame` holds raw rows. A condition that no row meets is dropped.
    """
    columns = pipe[0].columns_
    codes, _ = pipe[0].read_cells(frame)
    gaps = np.isnan([*codes.values()]).sum(axis=0)
    rows = np.flatnonzero(gaps == gaps.min())[:MOST_EXAMPLES]
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
