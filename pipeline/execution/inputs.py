"""The output of the stages impute and split as training data."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from pipeline.common.errors import UserError
from pipeline.config import paths
from pipeline.data import folds
from pipeline.data.stage_files import read_imputed
from pipeline.fitting.training_data import TrainingData


def load_training_data(name: str, folder: Path = paths.DATA) -> TrainingData:
    """Read a data set as impute and split wrote it. It is read again only if one of its files has changed."""
    files = [path.resolve() for path in (paths.imputed(name, folder), paths.folds(name, folder))]
    versions = tuple((path, path.stat().st_mtime_ns if path.is_file() else 0) for path in files)
    return _load(name, folder, versions)


@lru_cache(maxsize=2)
def _load(name: str, folder: Path, versions: object) -> TrainingData:
    frame = read_imputed(name, folder)
    partition = folds.read(name, folder)
    if len(partition.test_fold) != len(frame):
        counts = f"{len(frame)} rows, but folds for {len(partition.test_fold)}"
        raise UserError(f"{name}: {counts}; run `ldep split {name}` again.")
    y = np.asarray(frame.iloc[:, -1], dtype=str)
    X = np.ascontiguousarray(frame.iloc[:, :-1], dtype=np.float64)
    return TrainingData(X, y, partition, [str(column) for column in frame.columns[:-1]], str(frame.columns[-1]))
