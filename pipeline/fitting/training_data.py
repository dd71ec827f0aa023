"""A data set as models are fitted on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class TrainingData:
    """A prepared data set: X (m, n) as float64, y as strings, the test fold of each row."""

    X: np.ndarray
    y: np.ndarray
    fold: np.ndarray
    columns: list[str]
    target: str

    def frame(self, which: Any = slice(None)) -> pd.DataFrame:
        """Rows of X with their column names, which a logged pipeline expects.

        Not copied column by column, as pandas does by default: in another memory layout a scaler's sums differ in the
        last bit, and an SVC's score in the first digit.
        """
        return pd.DataFrame(self.X[which], columns=self.columns, copy=False)
