"""What is examined: a data set as numbers and as raw rows, one of its folds, and the metric."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ldep.model import folded
from ldep_pipeline.fitting.specs import Costs
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.metrics import evaluation
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.metrics.threshold import score_at


@dataclass(frozen=True)
class Subject:
    data: TrainingData
    raw: pd.DataFrame
    """The rows as the user knows them, the target last, in the order of `data`."""
    sources: list[str]
    """The raw column that each feature comes from."""
    fold: int
    metric: str
    costs: Costs | None = None
    texts: frozenset[str] = frozenset()
    """The raw columns of prose, of which each feature is a word."""
    threshold: float = 0.0
    """Of the decision value with two classes: the one that the fold was measured with."""

    @cached_property
    def train(self) -> np.ndarray:
        return np.flatnonzero(self.data.train_rows(self.fold))

    @cached_property
    def test(self) -> np.ndarray:
        return np.flatnonzero(self.data.test_rows(self.fold))

    @cached_property
    def groups(self) -> dict[str, list[int]]:
        """The features of each raw column that has any, by position."""
        positions: dict[str, list[int]] = {}
        for position, column in enumerate(self.sources):
            positions.setdefault(column, []).append(position)
        return positions

    def column_of(self, feature: str) -> str:
        """The raw column of a feature."""
        return self.sources[self.data.columns.index(feature)]

    def words(self, parts: np.ndarray, row: int | None = None) -> dict[str, float]:
        """The parts of the words by the names of their features; of a row only those that its texts contain."""
        places = [place for place, source in enumerate(self.sources) if source in self.texts]
        names = self.data.columns
        # The indicator of missing texts is the only feature of such a column that is not a word.
        words = [place for place in places if names[place] != f"{self.sources[place]}:missing"]
        return {names[place]: float(parts[place]) for place in words if row is None or self.data.X[row, place] == 1}

    def score(self, pipe: Any, X: np.ndarray, rows: np.ndarray) -> float | None:
        """The metric on some rows whose features may have been changed."""
        frame = pd.DataFrame(X, columns=self.data.columns, copy=False)
        classes, y = evaluation.classes_of(self.data.y, self.costs), self.data.y[rows]
        if self.threshold and METRICS[self.metric].needs == "classes":
            columns = evaluation.decision_columns(pipe, frame, classes.labels)
            assert columns is not None, "a model with a threshold has decision values"
            return score_at(self.metric, y, folded(columns), self.threshold, classes)
        return evaluation.score(self.metric, pipe, frame, y, pipe.predict(frame), classes)

    def class_scores(self, pipe: Any, X: np.ndarray) -> np.ndarray | None:
        """One column of decision values per class that the model knows; None if the model has none."""
        frame = pd.DataFrame(X, columns=self.data.columns, copy=False)
        columns = evaluation.decision_columns(pipe, frame, pipe.classes_)
        if columns is None or not self.threshold:
            return columns
        return columns - np.array([-0.5, 0.5]) * self.threshold
