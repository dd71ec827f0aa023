"""The tables that fetch and impute wrote, checked; or a message that says which stage to run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from pandas.api.types import is_numeric_dtype

from pipeline.common.errors import UserError, first_line
from pipeline.config import paths
from pipeline.data.split_column import SplitColumn, detach


def read_raw(name: str, folder: Path = paths.DATA) -> pd.DataFrame:
    """Read what fetch wrote: numbers and categories, the target last."""
    return _read(paths.raw(name, folder), f"fetch {name}", nominal=True)[0]


def read_target(name: str, folder: Path = paths.DATA) -> tuple[pd.Series, SplitColumn | None]:
    """Read the target that fetch wrote, and the column by which the rows are split, if there is one."""
    frame, column = _read(paths.raw(name, folder), f"fetch {name}", nominal=True)
    return frame.iloc[:, -1], column


def read_imputed(name: str, folder: Path = paths.DATA) -> pd.DataFrame:
    """Read what impute wrote: numbers, the target last."""
    return _read(paths.imputed(name, folder), f"impute {name}", nominal=False)[0]


def _read(path: Path, made_by: str, nominal: bool) -> tuple[pd.DataFrame, SplitColumn | None]:
    try:
        frame, column = detach(pd.read_parquet(path))
        _check(frame, nominal)
        return frame, column
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; run `ldep {made_by}` first, or `dvc repro` for everything.") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({first_line(error)}); run `ldep {made_by}` again.") from None


def _check(frame: pd.DataFrame, nominal: bool) -> None:
    """ValueError if a table is not one that its stage writes."""
    if frame.shape[1] < 2 or frame.empty:
        raise ValueError("it has no rows, or no feature beside the target")
    for column in frame.columns[:-1]:
        is_category = isinstance(frame[column].dtype, pd.CategoricalDtype)
        if not is_numeric_dtype(frame[column]) and not (nominal and is_category):
            raise ValueError(f"column '{column}' is of the type {frame[column].dtype}")
    target = frame.iloc[:, -1]
    if target.isna().any() or target.nunique() < 2:
        raise ValueError(f"the target '{target.name}' has a gap, or only one class")
