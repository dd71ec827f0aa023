"""The file of folds that the stage split writes: data/folds/NAME.csv.

Columns: `row`, from 0; `fold`, the fold in which the row is tested; `fold_1`, `fold_2` ..., the same for further
repeats; and, for a data set that is split by groups or by time, `group` or `time`: the number of the row's group, or
its position in time. With `time` the rows of the first block have the fold -1: they are never tested.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.common.errors import UserError, first_line
from pipeline.common.files import write_text
from pipeline.config import paths
from pipeline.fitting.partition import NEVER_TESTED, Partition

KINDS = ("group", "time")


def write(name: str, partition: Partition, folder: Path = paths.DATA) -> None:
    table = pd.DataFrame({"row": np.arange(len(partition.test_fold))})
    for repeat in range(partition.repeats):
        table[_column(repeat)] = partition.test_fold[:, repeat]
    for kind in KINDS:
        if (values := getattr(partition, kind)) is not None:
            table[kind] = values
    write_text(paths.folds(name, folder), table.to_csv(index=False, lineterminator="\n"))


def read(name: str, folder: Path = paths.DATA) -> Partition:
    path = paths.folds(name, folder)
    if not path.is_file():
        raise UserError(f"{path} does not exist; run `ldep split {name}` first, or `dvc repro` for everything.")
    try:
        return _checked(pd.read_csv(path))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} cannot be read ({first_line(error)}); run `ldep split {name}` again.") from None


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
