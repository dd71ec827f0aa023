"""The threshold of the decision value at which the second of two classes is answered.

0 is right for accuracy. Another metric of predicted classes, such as balanced accuracy, F1 or a cost, may be better
elsewhere. The threshold is chosen on decision values of rows that the models had not seen. Its gain is measured on
folds that did not choose it, and it is used only if that gain is more than noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldep import LDEPClassifierCV
from ldep.estimators.linear import LinearPiecesClassifier
from pipeline.fitting.metrics import METRICS, Classes, classes_of, score_of_classes
from pipeline.fitting.specs import Costs
from pipeline.fitting.training_data import TrainingData

CANDIDATES = 200
# A mean gain over the folds of so many standard errors is more than noise. For accuracy 0 is the right place, and a
# gain elsewhere is mostly luck; for the other metrics 0 has no such merit.
STANDARD_ERRORS = {"accuracy": 2.0}
OTHERWISE = 1.0
DEFAULT = 0.0


@dataclass(frozen=True)
class Threshold:
    """A threshold, and the metric on unseen rows with it (by a choice without the row's fold) and with 0."""

    value: float
    metric_at_threshold: float
    metric_at_default: float


def choose(
    metric: str, costs: Costs | None, data: TrainingData, values: np.ndarray | None, tolerance: float
) -> Threshold | None:
    """Return a threshold that is better than 0 by more than the tolerance, and by more than noise over the folds.

    None where there is no such threshold: also with more than two classes, without decision values, and for metrics
    that do not depend on predicted classes.
    """
    classes = classes_of(data.y, costs)
    if values is None or not classes.are_two or METRICS[metric].needs != "classes":
        return None
    tested = np.isfinite(values)
    parts = [tested & data.test_rows(fold) for fold in range(data.partition.folds_per_repeat)]
    predicted = np.full(len(values), False)
    gains = []
    for part in parts:
        others = tested & ~part
        if len(np.unique(data.y[others])) < 2:
            return None
        chosen = _best(metric, data.y[others], values[others], classes)
        predicted[part] = values[part] >= chosen
        before = _score(metric, data.y[part], values[part] >= DEFAULT, classes)
        gains.append(METRICS[metric].gain(_score(metric, data.y[part], predicted[part], classes), before))
    noise = STANDARD_ERRORS.get(metric, OTHERWISE) * float(np.std(gains, ddof=1) / np.sqrt(len(gains)))
    if np.mean(gains) <= max(tolerance, noise):
        return None
    return Threshold(
        _best(metric, data.y[tested], values[tested], classes),
        _score(metric, data.y[tested], predicted[tested], classes),
        _score(metric, data.y[tested], values[tested] >= DEFAULT, classes),
    )


def _best(metric: str, y: np.ndarray, values: np.ndarray, classes: Classes) -> float:
    """The best of some quantiles of the values; of equally good ones that in the middle."""
    candidates = np.unique(np.append(np.quantile(values, np.linspace(0, 1, CANDIDATES)), DEFAULT))
    scores = np.array([_score(metric, y, values >= candidate, classes) for candidate in candidates])
    best = scores.max() if METRICS[metric].higher_is_better else scores.min()
    equal = candidates[scores == best]
    return float(equal[len(equal) // 2])


def _score(metric: str, y: np.ndarray, second: np.ndarray, classes: Classes) -> float:
    value = score_of_classes(metric, y, classes.labels[second.astype(int)], classes)
    assert value is not None
    return value


def absorb(model: Any, threshold: float) -> bool:
    """Move an ℓ-DEP so that its own decision value is 0 at the threshold; return whether the model allows it.

    Its explanations, counterfactuals, rules and exported forms then follow by themselves.
    """
    if isinstance(model, LDEPClassifierCV):
        model.threshold_ += threshold  # the probabilities are a function of the votes, which stay
        return True
    if isinstance(model, LinearPiecesClassifier) and not hasattr(model, "slope_"):
        pieces = len(model.W_)  # of the second class; they come first
        model.offsets_at_center_ = np.concatenate(
            [model.offsets_at_center_[:pieces] - threshold, model.offsets_at_center_[pieces:]]
        )
        first, second = model.intercepts_
        model.intercepts_ = [first, second - threshold]
        return True
    return False
