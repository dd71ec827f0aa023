"""Files on this machine: the user's own data, and a folder of the catalogue's sets."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.common.errors import UserError
from pipeline.config.catalogue import Entry
from pipeline.config.params import OwnData
from pipeline.data.frames import categorical, target_last
from pipeline.data.provenance import Provenance
from pipeline.data.sources import arff_file, csv_file

log = logging.getLogger(__name__)
FORMATS = (".parquet", ".arff", ".csv")


def fetch_own(name: str, own: OwnData) -> tuple[pd.DataFrame, Provenance]:
    """Return a file of the user's, its target last, two classes, and no column without a value."""
    path = Path(own.path)
    if not path.is_file():
        raise UserError(f"own_data.{name}.path: there is no file {path} (in {Path.cwd()}).")
    frame = read(path, own.delimiter, own.encoding, own.target)
    for column in own.ignore:
        if column not in frame.columns:
            raise UserError(f"{path}: there is no column '{column}' to ignore; mend own_data.{name}.ignore.")
    frame = target_last(frame, own.target, own.ignore, str(path))
    if frame.empty:
        raise UserError(f"{path}: there are no rows.")
    _check_classes(frame[own.target], own)
    empty = [column for column in frame.columns[:-1] if frame[column].isna().all()]
    if empty:
        raise UserError(
            f"{path}: the column '{empty[0]}' has no value in any row, so nothing can be imputed; "
            f"fill it, or list it: own_data.{name}.ignore: [{', '.join(empty)}]."
        )
    return frame, Provenance("own file", file=own.path, md5=md5(path))


def fetch_folder(entry: Entry, folder: Path) -> tuple[pd.DataFrame, Provenance]:
    """Return a catalogue set from a folder: FOLDER/NAME.parquet, .arff or .csv."""
    if not folder.is_dir():
        raise UserError(f"data.source: '{folder}' is neither auto, openml or offline, nor a folder (in {Path.cwd()}).")
    for suffix in FORMATS:
        path = folder / f"{entry.name}{suffix}"
        if path.is_file():
            break
    else:
        names = ", ".join(f"{entry.name}{suffix}" for suffix in FORMATS)
        raise UserError(f"data.source: the folder {folder} has none of {names}.")
    if suffix == ".csv" and entry.nominal:
        raise UserError(
            f"{path}: a CSV file does not declare the order of categories, which '{entry.name}' needs for its "
            f"{entry.nominal} nominal features; give it as ARFF or Parquet."
        )
    frame = target_last(read(path, target=entry.target), entry.target, entry.ignore, str(path))
    return frame, Provenance("folder", file=path.name, md5=md5(path))


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


def md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _check_classes(target: pd.Series, own: OwnData) -> None:
    unlabelled = np.flatnonzero(target.isna())
    if unlabelled.size:
        raise UserError(
            f"{own.path}: the target '{own.target}' is missing in {unlabelled.size} rows, first in data row "
            f"{unlabelled[0] + 1}; remove these rows."
        )
    classes = [str(category) for category in target.cat.categories]
    if len(classes) != 2:
        counts = target.value_counts()
        shown = ", ".join(f"'{c}' ({counts[c]} rows)" for c in classes[:6]) + (", ..." if len(classes) > 6 else "")
        raise UserError(
            f"{own.path}: the target '{own.target}' has {len(classes)} class{'es' * (len(classes) != 1)}, "
            f"not two: {shown}. This is a binary classifier: choose another column, or join classes."
        )
