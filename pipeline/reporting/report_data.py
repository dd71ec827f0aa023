"""Everything that the report shows, as plain values. Its tables and figures are functions of this alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pipeline.reporting import costs, repeats, significance
from pipeline.reporting.measures import ACCURACY, SHOWN, Measure
from pipeline.reporting.scores import Scores, from_results


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
    measures: Mapping[str, Measure]
    """{name: a measure by which the models can be compared}: the metrics of the results, and times."""
    metric: str = ACCURACY.name
    """The measure by which they are compared: `metric` in params.yaml, or another one."""
    planar: Mapping[str, PlanarData] = field(default_factory=dict)
    decisions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """{data set: what the stage register decided about its model}."""

    def by(self, metric: str) -> ReportData:
        """The same results, compared by another measure."""
        return self if metric == self.metric else self._by_metric.setdefault(metric, replace(self, metric=metric))

    @cached_property
    def _by_metric(self) -> dict[str, ReportData]:
        """What `by` has returned: its ranks and claims take seconds, and are computed once."""
        return {}

    @property
    def measure(self) -> Measure:
        return self.measures[self.metric]

    @cached_property
    def accuracies(self) -> Scores:
        """For the comparison with the paper, which has accuracies only."""
        return from_results(self.results)

    @cached_property
    def scores(self) -> Scores:
        return from_results(self.results, self.measure)

    @cached_property
    def costs(self) -> pd.DataFrame:
        return costs.per_model(self.results)

    @cached_property
    def ranks(self) -> significance.Ranks | None:
        return significance.ranks(self.scores)

    @cached_property
    def claims(self) -> list[significance.Claim]:
        return significance.claims(self.scores)

    @property
    def repeats(self) -> int:
        """How often the cross-validation of every data set was done; 1 if they differ in that."""
        numbers = {info.repeats for info in self.datasets.values()}
        return numbers.pop() if len(numbers) == 1 else 1

    @cached_property
    def means_of_repeats(self) -> pd.DataFrame | None:
        """The mean over the data sets in each repeat; None if there is only one."""
        return repeats.means(self.results, self.measure, self.repeats) if self.repeats > 1 else None

    @cached_property
    def other_metrics(self) -> list[str]:
        """The measures that the page shows beside its own: those that at least two models have on every data set."""
        others = [name for name in SHOWN if name in self.measures and name != self.metric]
        return [name for name in others if len(self.by(name).scores.complete) > 1]
