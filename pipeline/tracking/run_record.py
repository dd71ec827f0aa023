"""Everything that is known about one model on one data set when its run is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipeline.data.provenance import Provenance
from pipeline.execution.plan import Plan
from pipeline.fitting.training_data import TrainingData

Folds = dict[int, dict[str, Any]]
"""The record of each fit, by fold."""


@dataclass(frozen=True)
class RunRecord:
    plan: Plan
    model: str
    folds: Folds
    rows: TrainingData
    provenance: Provenance

    @property
    def dataset(self) -> str:
        return self.plan.dataset

    @property
    def title(self) -> str:
        return f"{self.dataset} · {self.model}"

    @property
    def successful(self) -> list[dict[str, Any]]:
        """The records of the folds that did not fail, in their order."""
        return [record for _, record in sorted(self.folds.items()) if record["status"] == "ok"]

    @property
    def has_failed(self) -> bool:
        return len(self.successful) < len(self.folds)

    @property
    def seconds(self) -> float:
        """The time of tuning, fitting and predicting, summed over the folds."""
        return sum(
            (record["tuning"].get("seconds") or 0.0)
            + (record.get("fit_seconds") or 0.0)
            + (record.get("predict_seconds") or 0.0)
            for record in self.folds.values()
        )
