"""What a fitted pipeline says about rows, and the value of every metric of it.

Decision values say how much a model favours each class: one column per class, and the largest is favoured. With two
classes the columns are -d/2 and d/2 for the decision value d of an estimator (`ldep.model.unfolded`).

The second of two classes is predicted from a threshold of d on. 0 is right for accuracy, which is therefore measured
and served there. For any other metric of classes, such as balanced accuracy, F1 or a cost, 0 has no such merit, and the
threshold is chosen by the metric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ldep.model import class_numbers, unfolded
from ldep_pipeline.metrics.metric import ACCURACY, COST, METRICS

SMALLEST = 1e-12  # a probability of 0 or 1 has no finite log-odds


class ErrorCosts(Protocol):
    """What a wrong prediction costs: `costs` in params.yaml."""

    @property
    def false_positive(self) -> float: ...

    @property
    def false_negative(self) -> float: ...


@dataclass(frozen=True)
class Classes:
    """The classes of a data set in sorted order.

    Of two classes the rarer one is the positive one, which metrics and curves are about. More classes have no positive
    one, and their errors no costs.
    """

    labels: np.ndarray
    positive: int | None
    costs: ErrorCosts | None = None

    def of_positive(self, columns: np.ndarray) -> np.ndarray:
        """The column of the positive class; all columns if there is none."""
        return columns if self.positive is None else columns[:, self.positive]

    def encode(self, labels: np.ndarray) -> np.ndarray:
        """Whether each row is of the positive class; the number of its class if there is none."""
        if self.positive is None:
            return np.searchsorted(self.labels, labels)
        return labels == self.labels[self.positive]


def classes_of(y: np.ndarray, costs: ErrorCosts | None = None) -> Classes:
    """The classes of all rows of a data set. Of two classes of the same size the second is the positive one."""
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) > 2:
        return Classes(labels, None)
    return Classes(labels, 0 if counts[0] < counts[-1] else len(labels) - 1, costs)


def decision_values(pipe: Any, X: Any) -> np.ndarray | None:
    """The model's decision function; the log-odds of a model that has only probabilities; None if it has neither.

    With two classes one number per row, not negative where the second class is favoured.
    """
    if hasattr(pipe, "decision_function"):
        return np.asarray(pipe.decision_function(X), dtype=np.float64)
    if hasattr(pipe, "predict_proba"):
        p = np.clip(pipe.predict_proba(X), SMALLEST, 1 - SMALLEST)
        return np.log(p) if p.shape[1] > 2 else np.log(p[:, 1]) - np.log1p(-p[:, 1])
    return None


def decision_columns(pipe: Any, X: Any, labels: np.ndarray) -> np.ndarray | None:
    """Decision values with one column for each of `labels`, of which a model knows only some.

    A class without training rows, which a split by time or by group can leave, gets less than every other class.
    """
    values = decision_values(pipe, X)
    if values is None:
        return None
    known = pipe.classes_
    if len(known) == len(labels):
        return unfolded(values)
    values = np.column_stack([-values, values]) if values.ndim == 1 else values
    columns = np.repeat(values.min(axis=1, keepdims=True) - 1, len(labels), axis=1)
    columns[:, np.searchsorted(labels, known)] = values
    return columns


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


def guess(name: str, train: np.ndarray, test: np.ndarray, classes: Classes) -> float | None:
    """A metric of the best rule that ignores the features, chosen on the classes of training rows.

    The rule predicts one class for every row; for a metric of scores it gives all rows the same score, and for one of
    probabilities the shares of the training rows. None if the test rows have a single class and the metric needs two.
    """
    metric = METRICS[name]
    if metric.needs == "classes":
        constant = [np.full(len(train), label) for label in classes.labels]
        values = {str(said[0]): score_of_classes(name, train, said, classes) for said in constant}
        best = metric.ranked({label: value for label, value in values.items() if value is not None})[0]
        return score_of_classes(name, test, np.full(len(test), best), classes)
    shares = np.array([np.mean(train == label) for label in classes.labels])
    columns = classes.of_positive(np.tile(shares, (len(test), 1)))
    return _value(name, classes, test, test, columns, columns)


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
        if classes.costs is None:
            return None
        costs = classes.costs.false_positive, classes.costs.false_negative
        return metric.value(classes.encode(y), classes.encode(predicted), *costs)
    if metric.needs == "classes":
        return metric.value(classes.encode(y), classes.encode(predicted))
    values = scores if metric.needs == "scores" else probabilities
    if values is None or (metric.needs == "scores" and len(np.unique(y)) < 2):
        return None
    return metric.value(classes.encode(y), values)


def _scores(pipe: Any, X: Any, classes: Classes) -> np.ndarray | None:
    columns = decision_columns(pipe, X, classes.labels)
    return None if columns is None else classes.of_positive(columns)


def _probabilities(pipe: Any, X: Any, classes: Classes) -> np.ndarray | None:
    if not hasattr(pipe, "predict_proba"):
        return None
    values = np.asarray(pipe.predict_proba(X), dtype=np.float64)
    if len(pipe.classes_) < len(classes.labels):
        expanded = np.zeros((len(values), len(classes.labels)))
        expanded[:, np.searchsorted(classes.labels, pipe.classes_)] = values
        values = expanded
    return classes.of_positive(values)


THRESHOLDS = 200  # places at which a threshold is tried
CHOOSES_THRESHOLD = "f1"  # for a metric that does not depend on predicted classes


def depends_on_threshold(metric: str) -> bool:
    """Whether the values by a metric depend on the threshold, and 0 is not the right one."""
    return METRICS[metric].needs == "classes" and metric != ACCURACY.name


def best_threshold(metric: str, y: np.ndarray, values: np.ndarray, classes: Classes) -> float:
    """The best of some quantiles of the values; of equally good ones that in the middle."""
    candidates = np.unique(np.append(np.quantile(values, np.linspace(0, 1, THRESHOLDS)), 0.0))
    scores = np.array([score_at(metric, y, values, candidate, classes) for candidate in candidates])
    highest = scores.max() if METRICS[metric].higher_is_better else scores.min()
    equal = candidates[scores == highest]
    return float(equal[len(equal) // 2])


def score_at(metric: str, y: np.ndarray, values: np.ndarray, threshold: float, classes: Classes) -> float:
    """A metric of the classes that are predicted with a threshold."""
    value = score_of_classes(metric, y, classes.labels[class_numbers(values - threshold)], classes)
    assert value is not None
    return value
