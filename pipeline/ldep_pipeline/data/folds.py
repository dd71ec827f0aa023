"""The file of folds that the stage split writes, data/folds/NAME.csv, and with it the rows that models are trained on.

Columns: `row`, from 0; `fold`, the fold in which the row is tested; `fold_1`, `fold_2` ..., the same for further
repeats; and, for a data set that is split by groups or by time, `group` or `time`: the number of the row's group, or
its position in time. With `time` the rows of the first block have the fold -1: they are never tested.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from ldep_pipeline.common.errors import UserError, first_line
from ldep_pipeline.common.files import write_text
from ldep_pipeline.data import settings
from ldep_pipeline.data.stage_files import read_imputed
from ldep_pipeline.fitting.training_data import NEVER_TESTED, Partition, TrainingData

KINDS = ("group", "time")


def write(name: str, partition: Partition, folder: Path = settings.DATA) -> None:
    table = pd.DataFrame({"row": np.arange(len(partition.test_fold))})
    for repeat in range(partition.repeats):
        table[_column(repeat)] = partition.test_fold[:, repeat]
    for kind in KINDS:
        if (values := getattr(partition, kind)) is not None:
            table[kind] = values
    write_text(settings.folds(name, folder), table.to_csv(index=False, lineterminator="\n"))


def read(name: str, folder: Path = settings.DATA) -> Partition:
    path = settings.folds(name, folder)
    if not path.is_file():
        raise UserError(f"{path} does not exist; run `ldep split {name}` first, or `dvc repro` for everything.")
    try:
        return _checked(pd.read_csv(path))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} cannot be read ({first_line(error)}); run `ldep split {name}` again.") from None


def load_training_data(name: str, folder: Path = settings.DATA) -> TrainingData:
    """Read a data set as impute and split wrote it. It is read again only if one of its files has changed."""
    files = [path.resolve() for path in (settings.imputed(name, folder), settings.folds(name, folder))]
    versions = tuple((path, path.stat().st_mtime_ns if path.is_file() else 0) for path in files)
    return _load(name, folder, versions)


@lru_cache(maxsize=2)
def _load(name: str, folder: Path, versions: object) -> TrainingData:
    frame = read_imputed(name, folder)
    partition = read(name, folder)
    if len(partition.test_fold) != len(frame):
        counts = f"{len(frame)} rows, but folds for {len(partition.test_fold)}"
        raise UserError(f"{name}: {counts}; run `ldep split {name}` again.")
    y = np.asarray(frame.iloc[:, -1], dtype=str)
    X = np.ascontiguousarray(frame.iloc[:, :-1], dtype=np.float64)
    return TrainingData(X, y, partition, [str(column) for column in frame.columns[:-1]], str(frame.columns[-1]))


def _checked(table: pd.DataFrame) -> Partition:
    """The folds of a table; ValueError if it is not one that the stage split writes."""
    kinds = [column for column in table.columns if column in KINDS]
    repeats = table.shape[1] - 1 - len(kinds)
    expected = ["row", *map(_column, range(repeats)), *kinds]
    if repeats < 1 or len(kinds) > 1 or list(table.columns) != expected:
        raise ValueError(f"its columns are {', '.join(map(str, table.columns))}")
    for column in expected:
        if not np.issubdtype(table[column].dtype, np.integer):  # also if a cell is empty
            raise ValueError(f"column {column} holds something else than whole numbers")
    if not np.array_equal(table["row"], np.arange(len(table))):
        raise ValueError("the rows are not numbered from 0")
    test_fold = table[expected[1 : 1 + repeats]].to_numpy()
    first = NEVER_TESTED if "time" in kinds else 0
    numbers = np.unique(test_fold)
    for column in test_fold.T:
        found = np.unique(column)
        if not np.array_equal(found, numbers) or not np.array_equal(found, np.arange(first, first + len(found))):
            raise ValueError(f"the folds are not numbered from {first}")
    if len(numbers) < 2:
        raise ValueError("it has fewer than two folds")
    return Partition(test_fold, **{kind: table[kind].to_numpy() for kind in kinds})


def _column(repeat: int) -> str:
    return f"fold_{repeat}" if repeat else "fold"
