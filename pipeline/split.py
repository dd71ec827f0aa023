"""Stage split: a fold number for each row, written down, so that anyone can use the same folds."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline import paths
from pipeline.errors import UserError, first_line
from pipeline.files import write_text
from pipeline.params import Split
from pipeline.stage_input import read_table

log = logging.getLogger(__name__)


def run(name: str, params: Split, folder: Path = paths.DATA) -> None:
    """Write data/folds/NAME.csv: row, fold (the fold in which the row is tested), both from 0."""
    target = read_table(paths.raw(name, folder), f"fetch {name}").iloc[:, -1]
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


def read(name: str, folder: Path = paths.DATA) -> np.ndarray:
    """Return the test fold of each row, as written by this stage."""
    path = paths.folds(name, folder)
    if not path.is_file():
        raise UserError(f"{path} is not here; run `ldep split {name}` first, or `dvc repro` for everything.")
    try:
        fold = pd.read_csv(path)["fold"].to_numpy()
        found = np.unique(fold)
        if not len(fold) or not np.array_equal(found, np.arange(len(found))):
            raise ValueError("the folds are not numbered from 0")
        return fold
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} cannot be read ({first_line(error)}); run `ldep split {name}` again.") from None
