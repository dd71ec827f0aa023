"""The measures by which the report can compare the models: the metrics of the results, and three times.

Values are in the unit in which they are shown: per cent for metrics between 0 and 1, seconds for times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pandas as pd

from pipeline.reporting import labels
from pipeline.reporting.table import signed_text


class Unit(Enum):
    PERCENT = "%"
    SECONDS = "s"
    NONE = ""


@dataclass(frozen=True)
class Measure:
    """One measure. `requirement` says which models have no value of it."""

    name: str
    title: str
    unit: Unit = Unit.PERCENT
    higher_is_better: bool = True
    requirement: str = ""
    column: str = ""
    """The column of the results that has a time; empty for a metric."""

    @property
    def is_accuracy(self) -> bool:
        """Whether the paper's figures can be set beside the scores."""
        return self.name == "accuracy"

    @property
    def noun(self) -> str:
        """The title inside a sentence."""
        return self.title if self.title[1:2].isupper() or self.title == "F1" else self.title[0].lower() + self.title[1:]

    @property
    def axis(self) -> str:
        """The label of an axis."""
        return f"{self.noun}, {self.unit.value}" if self.unit.value else self.noun

    @property
    def rope(self) -> float:
        """The region of practical equivalence: gains of at most this size count as equal."""
        return {Unit.PERCENT: 0.5, Unit.SECONDS: math.log(1.1), Unit.NONE: 0.01}[self.unit]

    @property
    def rope_text(self) -> str:
        texts = {Unit.PERCENT: "0.5 percentage points", Unit.SECONDS: "a factor of 1.1", Unit.NONE: "0.01"}
        return texts[self.unit]

    def goodness(self, values: pd.DataFrame) -> pd.DataFrame:
        """The values turned so that more is better. Times are compared by their ratio: by their logarithm."""
        if self.unit is Unit.SECONDS:
            return -np.log(values)
        return values if self.higher_is_better else -values

    def best_first(self, means: pd.Series) -> pd.Series:
        """Means of models in order; those of equal ones as before."""
        return means.sort_values(ascending=not self.higher_is_better, kind="stable")

    def printed(self, value: float) -> float:
        """The value as precisely as it is shown."""
        if self.unit is Unit.SECONDS:
            return float(f"{value:.2g}")
        return round(value, 1 if self.unit is Unit.PERCENT else 3)

    def text(self, value: float, spread: float | None = None) -> str:
        """`76.0 ± 1.4`, `0.312`, `0.35 s`; without a spread (None or NaN) the first number alone."""
        if self.unit is Unit.SECONDS:
            return labels.duration(value)
        digits = 1 if self.unit is Unit.PERCENT else 3
        shown = f"{value:.{digits}f}"
        return shown if spread is None or math.isnan(spread) else f"{shown} ± {spread:.{digits}f}"

    def gain_text(self, gain: float) -> str:
        """A mean difference of `goodness`; for times the factor by which the first model is faster."""
        if self.unit is Unit.SECONDS:
            return f"× {math.exp(gain):.2g}"
        return signed_text(gain, 1 if self.unit is Unit.PERCENT else 3)


_TITLES = {"f1": "F1", "f1_macro": "Macro F1", "roc_auc": "ROC AUC", "log_loss": "Log-loss"}
_REQUIREMENTS = {"scores": "it needs a model with scores", "probabilities": "it needs a model with probabilities"}


def of_metric(name: str, is_share: bool = True, higher_is_better: bool = True, needs: str = "classes") -> Measure:
    """The measure of a metric of the results. needs: what a model must give, "classes", "scores" or "probabilities"."""
    title = _TITLES.get(name, name.replace("_", " ").capitalize())
    unit = Unit.PERCENT if is_share else Unit.NONE
    return Measure(name, title, unit, higher_is_better, _REQUIREMENTS.get(needs, ""))


def _of_time(name: str, column: str, requirement: str = "") -> Measure:
    title = name.replace("_", " ").capitalize()
    return Measure(name, title, Unit.SECONDS, higher_is_better=False, requirement=requirement, column=column)


ACCURACY = of_metric("accuracy")
TIMES = {
    "fit_time": _of_time("fit_time", "fit_cpu_seconds"),
    "tuning_time": _of_time("tuning_time", "tune_cpu_seconds", "a model that is not tuned has none"),
    "predict_time": _of_time("predict_time", "predict_seconds"),
}
# The measures that every report shows, in this order, as far as the results have them.
SHOWN = ("accuracy", "balanced_accuracy", "f1_macro", "roc_auc", "log_loss", "calibration_error", *TIMES)
