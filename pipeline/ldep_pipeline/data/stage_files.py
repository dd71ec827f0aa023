"""The tables that fetch and impute write: written, and read with a check, or a message that says which stage to run.

A data set of the user's may be split by a column instead of at random: by a time, or by a group of rows. The stage
fetch reads it from the user's file and stores it in front of the features, as whole numbers; the stage split uses it.
It is not a feature, unless `own_data.NAME.split.keep` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from ldep_pipeline.common.errors import UserError, first_line
from ldep_pipeline.common.files import replacing
from ldep_pipeline.data import settings

SplitKind = Literal["time", "group"]
SPLIT_KINDS: tuple[SplitKind, ...] = ("time", "group")
PREFIX = "split:"  # of the stored column: split:time:NAME


@dataclass(frozen=True)
class SplitColumn:
    """The number of each row's group, or of its point in time; rows with the same number belong together."""

    kind: SplitKind
    name: str
    numbers: np.ndarray

    @property
    def label(self) -> str:
        return f"{PREFIX}{self.kind}:{self.name}"


def write_raw(name: str, frame: pd.DataFrame, column: SplitColumn | None, folder: Path = settings.DATA) -> None:
    """Write what fetch has read: numbers and categories, the target last, and in front the column that splits."""
    stored = frame
    if column is not None:
        stored = frame.copy()
        stored.insert(0, column.label, column.numbers)
    with replacing(settings.raw(name, folder)) as part:
        stored.to_parquet(part, index=False)


def read_raw(name: str, folder: Path = settings.DATA) -> pd.DataFrame:
    """Read what fetch wrote: numbers and categories, the target last."""
    return _read(settings.raw(name, folder), f"fetch {name}", nominal=True)[0]


def read_target(name: str, folder: Path = settings.DATA) -> tuple[pd.Series, SplitColumn | None]:
    """Read the target that fetch wrote, and the column by which the rows are split, if there is one."""
    frame, column = _read(settings.raw(name, folder), f"fetch {name}", nominal=True)
    return frame.iloc[:, -1], column


def read_imputed(name: str, folder: Path = settings.DATA) -> pd.DataFrame:
    """Read what impute wrote: numbers, the target last."""
    return _read(settings.imputed(name, folder), f"impute {name}", nominal=False)[0]


def _read(path: Path, made_by: str, nominal: bool) -> tuple[pd.DataFrame, SplitColumn | None]:
    try:
        frame, column = _detached(pd.read_parquet(path))
        _check(frame, nominal)
        return frame, column
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; run `ldep {made_by}` first, or `dvc repro` for everything.") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({first_line(error)}); run `ldep {made_by}` again.") from None


def _detached(frame: pd.DataFrame) -> tuple[pd.DataFrame, SplitColumn | None]:
    """A stored table without the column, and the column."""
    label = str(frame.columns[0]) if frame.shape[1] else ""
    for kind in SPLIT_KINDS:
        start = f"{PREFIX}{kind}:"
        if label.startswith(start):
            numbers = frame.iloc[:, 0].to_numpy()
            if numbers.dtype.kind != "i":
                raise ValueError(f"column '{label}' is of the type {numbers.dtype}")
            return frame.iloc[:, 1:], SplitColumn(kind, label.removeprefix(start), numbers)
    return frame, None


def _check(frame: pd.DataFrame, nominal: bool) -> None:
    """ValueError if a table is not one that its stage writes."""
    if len(frame.columns) < 2 or frame.empty:
        raise ValueError("it has no rows, or no feature beside the target")
    for column in frame.columns[:-1]:
        is_category = isinstance(frame[column].dtype, pd.CategoricalDtype)
        if not is_numeric_dtype(frame[column]) and not (nominal and is_category):
            raise ValueError(f"column '{column}' is of the type {frame[column].dtype}")
    target = frame.iloc[:, -1]
    if target.isna().any() or target.nunique() < 2:
        raise ValueError(f"the target '{target.name}' has a missing value, or only one class")
