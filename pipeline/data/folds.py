"""The fold of each row, as the stage split wrote it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.common.errors import UserError, first_line
from pipeline.config import paths


def read(name: str, folder: Path = paths.DATA) -> np.ndarray:
    """Return the test fold of each row, from 0."""
    path = paths.folds(name, folder)
    if not path.is_file():
        raise UserError(f"{path} does not exist; run `ldep split {name}` first, or `dvc repro` for everything.")
    try:
        fold = pd.read_csv(path)["fold"].to_numpy()
        found = np.unique(fold)
        if not len(fold) or not np.array_equal(found, np.arange(len(found))):
            raise ValueError("the folds are not numbered from 0")
        return fold
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} cannot be read ({first_line(error)}); run `ldep split {name}` again.") from None
