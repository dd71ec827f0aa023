"""A data set as models are fitted on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pipeline.fitting.partition import Partition


@dataclass(frozen=True)
class TrainingData:
    """A prepared data set: X (m, n) as float64, y as strings, and the folds of its rows."""

    X: np.ndarray
    y: np.ndarray
    partition: Partition
    columns: list[str]
    target: str

    @property
    def n_folds(self) -> int:
        """The number of outer folds, those of all repeats together."""
        return self.partition.n_folds

    def train_rows(self, fold: int | None) -> np.ndarray:
        """A mask of the rows that a model of this fold is fitted on; of all rows if `fold` is None."""
        return np.ones(len(self.y), dtype=bool) if fold is None else self.partition.train_rows(fold)

    def test_rows(self, fold: int) -> np.ndarray:
        """A mask of the rows that test a model of this fold."""
        return self.partition.test_rows(fold)

    def train_classes(self, fold: int | None) -> np.ndarray:
        """The classes of the rows that a model of this fold is fitted on, in sorted order."""
        return np.unique(self.y[self.train_rows(fold)])

    def largest_training_part(self) -> int:
        """The number of rows in the largest training part. With folds by time this is the last one."""
        return max(int(self.train_rows(fold).sum()) for fold in range(self.n_folds))

    def frame(self, which: Any = slice(None)) -> pd.DataFrame:
        """Rows of X with their column names, which a logged pipeline expects.

        Not copied column by column, as pandas does by default: in another memory layout a scaler's sums differ in the
        last bit, and an SVC's score in the first digit.
        """
        return pd.DataFrame(self.X[which], columns=self.columns, copy=False)
