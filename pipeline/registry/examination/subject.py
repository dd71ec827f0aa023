"""What is examined: a data set with its raw rows, one fold, and the metric by which models are compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pipeline.fitting import metrics
from pipeline.fitting.decisions import decision_values
from pipeline.fitting.fit import FitTask, fit_and_evaluate
from pipeline.fitting.specs import Costs
from pipeline.fitting.training_data import TrainingData


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

    def score(self, pipe: Any, X: np.ndarray, rows: np.ndarray) -> float | None:
        """The metric on some rows whose features may have been changed."""
        frame = pd.DataFrame(X, columns=self.data.columns, copy=False)
        classes = metrics.classes_of(self.data.y, self.costs)
        return metrics.score(self.metric, pipe, frame, self.data.y[rows], pipe.predict(frame), classes)

    def class_scores(self, pipe: Any, X: np.ndarray) -> np.ndarray | None:
        """One column of decision values per class; None if the model has none. With two classes they are -d/2, d/2."""
        values = decision_values(pipe, pd.DataFrame(X, columns=self.data.columns, copy=False))
        if values is not None and values.ndim == 1:
            return np.column_stack([-values / 2, values / 2])
        return values


def fit(task: FitTask, settings: dict[str, Any], subject: Subject, rows: np.ndarray) -> Any:
    """A pipeline fitted on some rows, with the settings and the seed of the cross-validation."""
    if task.entry.ensemble is not None:
        task = replace(task, ensemble=settings)
    chosen = np.zeros(len(subject.data.y), dtype=bool)
    chosen[rows] = True
    return fit_and_evaluate(task, subject.data, chosen, subject.data.test_rows(subject.fold), settings)[0]
