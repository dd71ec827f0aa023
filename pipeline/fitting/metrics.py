"""The metrics of a fit, in one table. To add a metric, add an entry to METRICS.

The parameter check, the results, their bounds, the columns in MLflow and the documentation take the metrics from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, f1_score, roc_auc_score


@dataclass(frozen=True)
class Metric:
    """A function of the true classes and, depending on `needs_scores`, the predicted classes or the scores of rows.

    Higher is better. Every value lies between `low` and `high`.
    """

    meaning: str
    function: Callable[[np.ndarray, np.ndarray], float]
    needs_scores: bool = False
    low: float = 0.0
    high: float = 1.0


def _accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.mean(predicted == y))


def _f1_macro(y: np.ndarray, predicted: np.ndarray) -> float:
    return f1_score(y, predicted, average="macro")


METRICS = {
    "accuracy": Metric("share of rows whose class is predicted correctly; equals micro-averaged F1", _accuracy),
    "f1_macro": Metric("unweighted mean of the F1 scores of the two classes", _f1_macro),
    "balanced_accuracy": Metric("mean of the recalls of the two classes", balanced_accuracy_score),
    "roc_auc": Metric("area under the ROC curve; needs a model with scores", roc_auc_score, needs_scores=True),
}


def evaluate(pipe: Any, X: Any, y: np.ndarray, predicted: np.ndarray) -> dict[str, float | None]:
    """Every metric of a fitted pipeline on some rows."""
    return {name: score(name, pipe, X, y, predicted) for name in METRICS}


def score(name: str, pipe: Any, X: Any, y: np.ndarray, predicted: np.ndarray) -> float | None:
    """One metric; None if it needs scores and the pipeline has none, or if the rows have a single class."""
    metric = METRICS[name]
    if not metric.needs_scores:
        return float(metric.function(y, predicted))
    if len(np.unique(y)) < 2:
        return None
    if hasattr(pipe, "decision_function"):
        values = pipe.decision_function(X)
    elif hasattr(pipe, "predict_proba"):
        values = pipe.predict_proba(X)[:, 1]
    else:
        return None
    return finite(metric.function(y == pipe.classes_[1], values))


def finite(value: Any) -> float | None:
    """A number that can be averaged and drawn, or None: an attribute of this name may be anything, as LightGBM's is."""
    return float(value) if isinstance(value, Real) and math.isfinite(value) else None
