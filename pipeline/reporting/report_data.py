"""Everything that the report shows, as plain values. Its tables and figures are functions of this alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pipeline.reporting import accuracies, costs, significance


@dataclass(frozen=True)
class DatasetInfo:
    """What the report says about one data set. A number is None if it was not recorded."""

    origin: str
    rows: int | None = None
    features: int | None = None
    nominal: int | None = None
    missing: int | None = None
    classes: Mapping[str, int] = field(default_factory=dict)
    md5: str = ""
    repeats: int = 1
    """How often the whole cross-validation was done."""


@dataclass(frozen=True)
class PlanarData:
    """The rows of a data set with two features, and the decision values of each model on a grid over them."""

    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, str]
    grids: Mapping[str, Mapping[str, list[float]]]
    """{model: {"x": ..., "y": ..., "value": ...}}, the values row by row."""


@dataclass(frozen=True)
class ReportData:
    results: pd.DataFrame
    """The tidy table: one row per data set, model, fold and metric."""
    curves: pd.DataFrame
    """Columns dataset, model, fold, iteration, objective."""
    datasets: Mapping[str, DatasetInfo]
    metric: str = "accuracy"
    """The metric that decides, as in params.yaml."""
    planar: Mapping[str, PlanarData] = field(default_factory=dict)
    decisions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """{data set: what the stage register decided about its model}."""

    @cached_property
    def accuracies(self) -> accuracies.Accuracies:
        return accuracies.from_results(self.results)

    @cached_property
    def costs(self) -> pd.DataFrame:
        return costs.per_model(self.results)

    @cached_property
    def ranks(self) -> significance.Ranks | None:
        return significance.ranks(self.accuracies)

    @cached_property
    def claims(self) -> list[significance.Claim]:
        return significance.claims(self.accuracies)
