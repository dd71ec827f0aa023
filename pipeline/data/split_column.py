"""The column by which a data set of the user's is split, instead of at random: a time, or a group of rows.

The stage fetch reads it from the user's file and stores it in front of the features, as whole numbers; the stage split
uses it. It is not a feature, unless `own_data.NAME.split.keep` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

Kind = Literal["time", "group"]
KINDS: tuple[Kind, ...] = ("time", "group")
PREFIX = "split:"  # of the stored column: split:time:NAME


@dataclass(frozen=True)
class SplitColumn:
    """The number of each row's group, or of its point in time; rows with the same number belong together."""

    kind: Kind
    name: str
    numbers: np.ndarray

    @property
    def label(self) -> str:
        return f"{PREFIX}{self.kind}:{self.name}"


def attach(frame: pd.DataFrame, column: SplitColumn | None) -> pd.DataFrame:
    """The table as it is stored: the column in front."""
    if column is None:
        return frame
    stored = frame.copy()
    stored.insert(0, column.label, column.numbers)
    return stored


def detach(frame: pd.DataFrame) -> tuple[pd.DataFrame, SplitColumn | None]:
    """A stored table without the column, and the column; the inverse of `attach`."""
    label = str(frame.columns[0]) if frame.shape[1] else ""
    for kind in KINDS:
        start = f"{PREFIX}{kind}:"
        if label.startswith(start):
            numbers = frame.iloc[:, 0].to_numpy()
            if numbers.dtype.kind != "i":
                raise ValueError(f"column '{label}' is of the type {numbers.dtype}")
            return frame.iloc[:, 1:], SplitColumn(kind, label.removeprefix(start), numbers)
    return frame, None
