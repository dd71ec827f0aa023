"""Tables in files: CSV, ARFF and Parquet, as frames of numbers and categories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.common.errors import UserError
from pipeline.data.tables import arff_file, csv_file
from pipeline.data.tables.frames import categorical


def read(path: Path, delimiter: str = ",", encoding: str = "utf-8", target: str | None = None) -> pd.DataFrame:
    if path.suffix.lower() == ".csv":
        return csv_file.read(path, delimiter, encoding, target)
    if path.suffix.lower() == ".arff":
        return arff_file.read(path, encoding)
    if path.suffix.lower() in (".parquet", ".pq"):
        return read_parquet(path)
    raise UserError(f"{path}: '{path.suffix}' is not a format read here; use .csv, .arff or .parquet.")


def read_parquet(path: Path) -> pd.DataFrame:
    """Numbers as float64, dictionaries as categories in stored order, other values as categories in sorted order."""
    try:
        frame = pd.read_parquet(path)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file.") from None
    except (OSError, ValueError) as error:  # pyarrow's errors are of these two kinds
        raise UserError(f"{path} is not a readable Parquet file: {error}.") from None
    frame.columns = pd.Index([str(column) for column in frame.columns])
    frame = frame.reset_index(drop=True)
    return frame.apply(lambda column: _parquet_column(path, column))


def _parquet_column(path: Path, column: pd.Series) -> pd.Series:
    if isinstance(column.dtype, pd.CategoricalDtype):
        names = [str(category) for category in column.cat.categories]
        return column.cat.rename_categories(pd.Index(names, dtype=object))
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(values))[0]) + 1
            raise UserError(f"{path}: row {row}, column '{column.name}': an infinite number.")
        return pd.Series(values, index=column.index)
    cells = [None if pd.isna(cell) else str(cell) for cell in column]
    return pd.Series(categorical(cells, sorted({c for c in cells if c is not None})), index=column.index)
