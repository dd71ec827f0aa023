"""Stage split: the test fold of each row, in a file, so that anyone can use the same folds."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.common.errors import UserError
from pipeline.config import paths
from pipeline.config.params import Split
from pipeline.data import folds
from pipeline.data.stage_files import read_raw
from pipeline.fitting.partition import Partition, stratified_folds

log = logging.getLogger(__name__)


def run(name: str, params: Split, folder: Path = paths.DATA) -> None:
    """Write data/folds/NAME.csv: the fold in which each row is tested, in each repeat."""
    target = read_raw(name, folder).iloc[:, -1]
    try:
        partition = assign(target, params)
    except UserError as error:
        raise UserError(f"{name}: {error}") from None
    folds.write(name, partition, folder)
    repeated = f", {partition.repeats} times" if partition.repeats > 1 else ""
    log.info("%s: %d rows in %d folds%s.", name, len(target), params.folds, repeated)


def assign(target: pd.Series, params: Split) -> Partition:
    """Stratified folds. Repeat r is shuffled with the seed `split.seed` + r."""
    smallest = target.value_counts().min()
    if smallest < params.folds:
        raise UserError(f"the rarer class has {smallest} rows, too few for split.folds: {params.folds}.")
    y = np.asarray(target, dtype=str)
    repeats = [stratified_folds(y, params.folds, (params.seed + repeat) % 2**32) for repeat in range(params.repeats)]
    return Partition(np.column_stack(repeats))
