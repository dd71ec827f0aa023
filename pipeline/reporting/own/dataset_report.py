"""Everything that the page of one data set shows, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pipeline.reporting.own import comparison
from pipeline.reporting.own import leaderboard as ranking
from pipeline.reporting.own.metric_text import MetricText

MOST_PEERS = 3  # models that are drawn beside the winner


@dataclass(frozen=True)
class DatasetReport:
    name: str
    origin: str
    target: str
    metric: MetricText
    other_metrics: Sequence[MetricText]
    results: pd.DataFrame
    """The tidy table of this data set: one row per model, fold and metric."""
    split: str
    """How the rows were divided, in words."""
    test_share: float
    """Rows of a test part divided by rows of a training part, the mean over the folds."""
    n_features: int
    classes: Mapping[str, int]
    """Rows of each class, in sorted order."""
    y: np.ndarray
    """The class of each row."""
    scores: Mapping[str, np.ndarray] = field(default_factory=dict)
    """{model: one column per class}: decision values by the fit that had not seen the row; NaN if no fold tests it."""
    probabilities: Mapping[str, np.ndarray] = field(default_factory=dict)
    """The same as probabilities, for models that can be calibrated."""
    record: Mapping[str, Any] | None = None
    """What the stage register decided; None if it has not run."""
    profile: Mapping[str, Any] | None = None
    example: Mapping[str, Any] = field(default_factory=dict)
    """A raw row, to try the served model with."""

    @cached_property
    def leaderboard(self) -> list[ranking.Entry]:
        return ranking.entries(self.results, self.metric, self.test_share)

    @cached_property
    def ranked(self) -> list[ranking.Entry]:
        """The models that have a value of the metric on every fold, the best first."""
        return [entry for entry in self.leaderboard if entry.problem is None]

    @cached_property
    def winner(self) -> str | None:
        """The model that was registered or, before that, the first of the leaderboard; None if every model failed."""
        if self.record is not None:
            return str(self.record["model"])
        return self.ranked[0].model if self.ranked else None

    @cached_property
    def winning_entry(self) -> ranking.Entry | None:
        return next((entry for entry in self.ranked if entry.model == self.winner), None)

    @cached_property
    def peers(self) -> list[str]:
        """The best other models that have scores."""
        others = [entry.model for entry in self.ranked if entry.model != self.winner]
        return [model for model in others if model in self.scores][:MOST_PEERS]

    @cached_property
    def comparisons(self) -> list[comparison.Comparison]:
        """The winner against every other model."""
        if self.winning_entry is None:
            return []
        others = [entry for entry in self.ranked if entry.model != self.winner]
        return comparison.against(self.winning_entry, others, self.metric, self.test_share)

    @cached_property
    def positive(self) -> str:
        """Of two classes, the one that curves and errors are about: the rarer one."""
        first, *_, last = self.classes
        return first if self.classes[first] < self.classes[last] else last

    @property
    def is_binary(self) -> bool:
        return len(self.classes) == 2

    @property
    def threshold(self) -> float:
        """The decision value of the second class from which the final model predicts it."""
        value = (self.record or {}).get("threshold")
        return 0.0 if value is None else float(value)

    @property
    def examination(self) -> Mapping[str, Any]:
        return (self.record or {}).get("examination") or {}
