"""The decision value from which the second of two classes is predicted, chosen by a metric of predicted classes.

0 is right for accuracy, which is therefore measured and served there. For any other metric of classes, such as balanced
accuracy, F1 or a cost, 0 has no such merit.
"""

from __future__ import annotations

import numpy as np

from ldep.model import class_numbers
from ldep_pipeline.metrics.evaluation import Classes, score_of_classes
from ldep_pipeline.metrics.metric import ACCURACY, METRICS

CANDIDATES = 200  # places at which a threshold is tried
SUBSTITUTE = "f1"  # chooses it for a metric that does not depend on predicted classes


def moves(metric: str) -> bool:
    """Whether the values by a metric depend on the threshold, and 0 is not the right one."""
    return METRICS[metric].needs == "classes" and metric != ACCURACY.name


def best(metric: str, y: np.ndarray, values: np.ndarray, classes: Classes) -> float:
    """The best of some quantiles of the values; of equally good ones that in the middle."""
    candidates = np.unique(np.append(np.quantile(values, np.linspace(0, 1, CANDIDATES)), 0.0))
    scores = np.array([score_at(metric, y, values, candidate, classes) for candidate in candidates])
    highest = scores.max() if METRICS[metric].higher_is_better else scores.min()
    equal = candidates[scores == highest]
    return float(equal[len(equal) // 2])


def score_at(metric: str, y: np.ndarray, values: np.ndarray, threshold: float, classes: Classes) -> float:
    """A metric of the classes that are predicted with a threshold."""
    value = score_of_classes(metric, y, classes.labels[class_numbers(values - threshold)], classes)
    assert value is not None
    return value
