"""Stage split: the test fold of each row, in a file, so that anyone can use the same folds."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from ldep_pipeline.common.errors import UserError, short
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Split
from ldep_pipeline.data import folds
from ldep_pipeline.data.stage_files import SplitColumn, read_target
from ldep_pipeline.fitting.training_data import Partition, group_folds, missing_class, stratified_folds, time_folds

log = logging.getLogger(__name__)


def run(name: str, params: Split, folder: Path = paths.DATA) -> None:
    """Write data/folds/NAME.csv: the fold in which each row is tested, in each repeat."""
    target, column = read_target(name, folder)
    try:
        partition = assign(target, params, column)
    except UserError as error:
        raise UserError(f"{name}: {error}") from None
    folds.write(name, partition, folder)
    by = f" by {column.kind} ({column.name})" if column is not None else ""
    repeated = f", {partition.repeats} times" if partition.repeats > 1 else ""
    log.info("%s: %d rows in %d folds%s%s.", name, len(target), params.folds, by, repeated)
    y = np.asarray(target, dtype=str)
    for fold in range(partition.n_folds):
        absent = missing_class(y, partition.test_rows(fold))
        if absent is not None:
            log.warning("%s: the test part of fold %d has no row of class '%s'.", name, fold, short(absent))


def assign(target: pd.Series, params: Split, column: SplitColumn | None = None) -> Partition:
    """Stratified folds, or those of a column. Repeat r is shuffled with the seed `split.seed` + r."""
    y = np.asarray(target, dtype=str)
    seeds = [(params.seed + repeat) % 2**32 for repeat in range(params.repeats)]
    if column is None:
        smallest = target.value_counts().min()
        if smallest < params.folds:
            raise UserError(f"the rarest class has {smallest} rows, too few for split.folds: {params.folds}.")
        return Partition(np.column_stack([stratified_folds(y, params.folds, seed) for seed in seeds]))
    if column.kind == "time":  # has no repeats: nothing is shuffled
        partition = Partition(_by_time(column, params)[:, None], time=column.numbers)
    else:
        _check_groups(column, params)
        repeats = [group_folds(y, column.numbers, params.folds, seed) for seed in seeds]
        partition = Partition(np.column_stack(repeats), group=column.numbers)
    _check_training_parts(partition, y, column)
    return partition


def _by_time(column: SplitColumn, params: Split) -> np.ndarray:
    try:
        return time_folds(column.numbers, params.folds)
    except ValueError:
        raise UserError(
            f"too many rows have the same time in the column '{short(column.name)}' to cut them into "
            f"{params.folds + 1} blocks; use fewer split.folds than {params.folds}."
        ) from None


def _check_groups(column: SplitColumn, params: Split) -> None:
    count = len(np.unique(column.numbers))
    if count < params.folds:
        raise UserError(
            f"the column '{short(column.name)}' has {count} groups, too few for split.folds: {params.folds}."
        )


def _check_training_parts(partition: Partition, y: np.ndarray, column: SplitColumn) -> None:
    for fold in range(partition.n_folds):
        absent = missing_class(y, partition.train_rows(fold))
        if not partition.test_rows(fold).any():
            raise UserError(f"the groups of '{short(column.name)}' are too uneven for so many split.folds.")
        if absent is not None:
            what = "a group" if column.kind == "group" else "the later rows alone"
            raise UserError(
                f"split by '{short(column.name)}', the training part of fold {fold} has no row of class "
                f"'{short(absent)}': {what} would have them all. Use another split.folds, or another column."
            )
