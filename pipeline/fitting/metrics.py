"""The metrics of a fit, in one table. To add a metric, add an entry to METRICS.

The parameter check, tuning, the choice of the winner, the results, their bounds, the columns in MLflow and the
documentation take the metrics from there. Of two classes the rarer one is the positive class of a metric.

scikit-learn is imported when a metric is computed. Every command checks params.yaml and with it the name of the metric,
and the import takes longer than the work of most of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pipeline.fitting.decisions import class_columns, decision_values

if TYPE_CHECKING:
    from pipeline.fitting.specs import Costs

Needs = Literal["classes", "scores", "probabilities"]
BINS = 10  # of the confidence, for the calibration error
SMALLEST = 1e-15  # a probability of 0 would have an infinite log-loss
COST = "cost"


@dataclass(frozen=True)
class Metric:
    """A function of the true classes and of what a model says about the rows.

    With two classes the function receives whether each row is of the positive class, and one value per row: whether it
    is predicted to be (`needs` is "classes"), its score, or its probability. With more classes it receives the number
    of each row's class, and the number of the predicted class, or one column of scores or probabilities per class.
    Every value lies between `low` and `high`.
    """

    meaning: str
    function: Callable[..., float]
    needs: Needs = "classes"
    higher_is_better: bool = True
    low: float = 0.0
    high: float = 1.0

    @property
    def is_share(self) -> bool:
        """Whether values are shown in percent."""
        return self.low >= 0 and self.high <= 1

    def gain(self, new: float, old: float) -> float:
        """How much better the first value is; negative if it is worse."""
        return new - old if self.higher_is_better else old - new

    def better(self, new: float, old: float) -> bool:
        return self.gain(new, old) > 0

    def ranked(self, values: dict[str, float]) -> list[str]:
        """The names of some values, the best first; equal ones stay in their order."""
        return sorted(values, key=values.__getitem__, reverse=self.higher_is_better)

    def within_bounds(self, value: Any) -> float | None:
        """A value of the function: a sum of shares can exceed 1 in its last bit. None if it is not finite."""
        number = finite(value)
        return None if number is None else min(max(number, self.low), self.high)

    def text(self, value: float, deviation: float | None = None) -> str:
        """A value for people: shares in percent, other values as they are."""
        factor, digits = (100, 1) if self.is_share else (1, 4)
        text = f"{factor * value:.{digits}f}"
        return text if deviation is None else f"{text} ± {factor * deviation:.{digits}f}"


@dataclass(frozen=True)
class Classes:
    """The classes of a data set in sorted order, the number of the positive one, and the costs of errors, if known."""

    labels: np.ndarray
    positive: int
    costs: Costs | None = None

    @property
    def are_two(self) -> bool:
        return len(self.labels) == 2

    def oriented(self, values: np.ndarray) -> np.ndarray:
        """Decision values that, with two classes, are high where the positive class is favoured."""
        return -values if self.are_two and self.positive == 0 else values

    def encode(self, labels: np.ndarray) -> np.ndarray:
        """Whether each row is of the positive class, if there are two; otherwise the number of its class."""
        return labels == self.labels[self.positive] if self.are_two else np.searchsorted(self.labels, labels)


def classes_of(y: np.ndarray, costs: Costs | None = None) -> Classes:
    """The classes of all rows of a data set. Of two classes of the same size the second is the positive one."""
    labels, counts = np.unique(y, return_counts=True)
    return Classes(labels, 0 if counts[0] < counts[-1] else len(labels) - 1, costs)


def evaluate(pipe: Any, X: Any, y: np.ndarray, predicted: np.ndarray, classes: Classes) -> dict[str, float | None]:
    """Every metric of a fitted pipeline on some rows."""
    scores = _scores(pipe, X, classes)
    probabilities = _probabilities(pipe, X, classes)
    return {name: _value(name, classes, y, predicted, scores, probabilities) for name in METRICS}


def score(name: str, pipe: Any, X: Any, y: np.ndarray, predicted: np.ndarray, classes: Classes) -> float | None:
    """One metric; None if it needs what the pipeline does not have, or if the rows have a single class."""
    needs = METRICS[name].needs
    scores = _scores(pipe, X, classes) if needs == "scores" else None
    probabilities = _probabilities(pipe, X, classes) if needs == "probabilities" else None
    return _value(name, classes, y, predicted, scores, probabilities)


def score_of_classes(name: str, y: np.ndarray, predicted: np.ndarray, classes: Classes) -> float | None:
    """A metric that needs predicted classes only."""
    return _value(name, classes, y, predicted, None, None)


def score_of_values(name: str, y: np.ndarray, values: np.ndarray, classes: Classes) -> float | None:
    """A metric that needs scores, for decision values as `decision_values` gives them."""
    return _value(name, classes, y, y, classes.oriented(values), None)


def _value(
    name: str,
    classes: Classes,
    y: np.ndarray,
    predicted: np.ndarray,
    scores: np.ndarray | None,
    probabilities: np.ndarray | None,
) -> float | None:
    metric = METRICS[name]
    if name == COST:
        if classes.costs is None or not classes.are_two:
            return None
        return _mean_cost(classes.encode(y), classes.encode(predicted), classes.costs)
    if metric.needs == "classes":
        return metric.within_bounds(metric.function(classes.encode(y), classes.encode(predicted)))
    values = scores if metric.needs == "scores" else probabilities
    if values is None or (metric.needs == "scores" and len(np.unique(y)) < 2):
        return None
    return metric.within_bounds(metric.function(classes.encode(y), values))


def _scores(pipe: Any, X: Any, classes: Classes) -> np.ndarray | None:
    values = decision_values(pipe, X)
    if values is None:
        return None
    return classes.oriented(values if classes.are_two else class_columns(values, pipe.classes_, classes.labels))


def _probabilities(pipe: Any, X: Any, classes: Classes) -> np.ndarray | None:
    if not hasattr(pipe, "predict_proba"):
        return None
    values = np.asarray(pipe.predict_proba(X), dtype=np.float64)
    if len(pipe.classes_) < len(classes.labels):
        expanded = np.zeros((len(values), len(classes.labels)))
        expanded[:, np.searchsorted(classes.labels, pipe.classes_)] = values
        values = expanded
    return values[:, classes.positive] if classes.are_two else values


def _accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.mean(predicted == y))


def _balanced_accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    from sklearn.metrics import balanced_accuracy_score

    return float(balanced_accuracy_score(y, predicted))


def _f1(y: np.ndarray, predicted: np.ndarray) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(y, predicted, average="binary" if y.dtype == bool else "macro", zero_division=0.0))


def _f1_macro(y: np.ndarray, predicted: np.ndarray) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(y, predicted, average="macro", zero_division=0.0))


def _roc_auc(y: np.ndarray, scores: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return _one_versus_rest(roc_auc_score, y, scores)


def _average_precision(y: np.ndarray, scores: np.ndarray) -> float:
    from sklearn.metrics import average_precision_score

    return _one_versus_rest(average_precision_score, y, scores)


def _one_versus_rest(function: Callable[..., float], y: np.ndarray, scores: np.ndarray) -> float:
    """The value of the positive class; with more than two classes the mean over those that the rows have."""
    if y.dtype == bool:
        return function(y, scores)
    return float(np.mean([function(y == number, scores[:, number]) for number in np.unique(y)]))


def _log_loss(y: np.ndarray, probability: np.ndarray) -> float:
    columns = np.column_stack([1 - probability, probability]) if y.dtype == bool else probability
    of_class = columns[np.arange(len(y)), y.astype(int)]
    return float(-np.mean(np.log(np.maximum(of_class, SMALLEST))))


def _calibration_error(y: np.ndarray, probability: np.ndarray) -> float:
    if y.dtype == bool:
        confidence, correct = np.maximum(probability, 1 - probability), (probability >= 0.5) == y
    else:
        confidence, correct = probability.max(axis=1), probability.argmax(axis=1) == y
    bins = np.minimum((confidence * 2 * BINS).astype(int), 2 * BINS - 1)
    gaps = np.bincount(bins, confidence - correct)
    return float(np.abs(gaps).sum() / len(y))


def _mean_cost(y: np.ndarray, predicted: np.ndarray, costs: Costs) -> float:
    return float(np.mean(costs.false_positive * (predicted & ~y) + costs.false_negative * (y & ~predicted)))


METRICS = {
    "accuracy": Metric("share of rows whose class is predicted correctly; equals micro-averaged F1", _accuracy),
    "balanced_accuracy": Metric("mean of the recalls of the classes", _balanced_accuracy),
    "f1": Metric("F1 score of the rarer class; with more than two classes the same as `f1_macro`", _f1),
    "f1_macro": Metric("unweighted mean of the F1 scores of the classes", _f1_macro),
    "roc_auc": Metric("area under the ROC curve; needs a model with scores", _roc_auc, needs="scores"),
    "average_precision": Metric(
        "area under the precision-recall curve of the rarer class; needs a model with scores",
        _average_precision,
        needs="scores",
    ),
    "log_loss": Metric(
        "mean negative log-probability of the true class; needs a model with probabilities",
        _log_loss,
        needs="probabilities",
        higher_is_better=False,
        high=math.inf,
    ),
    "calibration_error": Metric(
        "mean distance between confidence and accuracy over bins of the confidence; needs a model with probabilities",
        _calibration_error,
        needs="probabilities",
        higher_is_better=False,
    ),
    COST: Metric("mean cost per row by `costs`; two classes only", _mean_cost, higher_is_better=False, high=math.inf),
}


def finite(value: Any) -> float | None:
    """A number that can be averaged and drawn, or None: an attribute of this name may be anything, as LightGBM's is."""
    return float(value) if isinstance(value, Real) and math.isfinite(value) else None
