"""The metrics of a fit: one table, from which the parameter check, the results, MLflow and the report take them."""

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
    """A function of the true classes and, depending on `needs_scores`, the predicted classes or decision values.

    Higher is better. Every value lies between `low` and `high`.
    """

    function: Callable[[np.ndarray, np.ndarray], float]
    needs_scores: bool = False
    low: float = 0.0
    high: float = 1.0


def _accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    """The share of rows whose class is predicted correctly, which equals the micro-averaged F1 score."""
    return float(np.mean(predicted == y))


def _f1_macro(y: np.ndarray, predicted: np.ndarray) -> float:
    return f1_score(y, predicted, average="macro")


METRICS = {
    "accuracy": Metric(_accuracy),
    "f1_macro": Metric(_f1_macro),
    "balanced_accuracy": Metric(balanced_accuracy_score),
    "roc_auc": Metric(roc_auc_score, needs_scores=True),
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
