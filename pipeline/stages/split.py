"""Stage split: the test fold of each row, in a file, so that anyone can use the same folds."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.common.errors import UserError
from pipeline.common.files import write_text
from pipeline.config import paths
from pipeline.config.params import Split
from pipeline.data.stage_files import read_raw

log = logging.getLogger(__name__)


def run(name: str, params: Split, folder: Path = paths.DATA) -> None:
    """Write data/folds/NAME.csv: row, fold (the fold in which the row is tested), both from 0."""
    target = read_raw(name, folder).iloc[:, -1]
    try:
        fold = assign(target, params.folds, params.seed)
    except UserError as error:
        raise UserError(f"{name}: {error}") from None
    table = pd.DataFrame({"row": np.arange(len(fold)), "fold": fold})
    write_text(paths.folds(name, folder), table.to_csv(index=False, lineterminator="\n"))
    log.info("%s: %d rows in %d folds.", name, len(fold), params.folds)


def assign(target: pd.Series, folds: int = 5, seed: int = 1) -> np.ndarray:
    """Return the test fold of each row: StratifiedKFold(folds, shuffle=True, random_state=seed)."""
    from sklearn.model_selection import StratifiedKFold

    smallest = target.value_counts().min()
    if smallest < folds:
        raise UserError(f"the rarer class has {smallest} rows, too few for split.folds: {folds}.")
    fold = np.full(len(target), -1)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for number, (_, test) in enumerate(splitter.split(np.zeros(len(target)), np.asarray(target, dtype=str))):
        fold[test] = number
    return fold
