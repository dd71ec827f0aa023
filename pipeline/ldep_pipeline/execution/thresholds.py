"""The threshold of a model's decision values, chosen and measured on the decision values of rows it has not seen.

The rows of a fold are classified with the threshold that the other rows of the cross-validation choose: those of its
training part. So the scores of the models, the one that is registered and what is served follow the same procedure. It
is used only if it gains more than the noise of the folds; otherwise the threshold is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ldep.model import class_numbers, folded
from ldep_pipeline.fitting.specs import Costs
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.metrics import evaluation
from ldep_pipeline.metrics.evaluation import classes_of, score_of_classes
from ldep_pipeline.metrics.metric import METRICS


@dataclass(frozen=True)
class Thresholds:
    """The threshold of each fold, of all repeats, and that of the model that is fitted on all rows."""

    folds: tuple[float, ...]
    served: float


def choose(
    metric: str, costs: Costs | None, data: TrainingData, decisions: Mapping[int, np.ndarray]
) -> Thresholds | None:
    """Choose thresholds by a metric; None stands for 0 everywhere.

    decisions: the decision values of the test rows of each fold, one column per class. A metric that does not depend on
    predicted classes chooses a threshold, by F1, only where every row would get the same answer.
    """
    classes, folds = classes_of(data.y, costs), data.partition.n_folds
    if classes.positive is None or len(decisions) < folds:
        return None
    values = {fold: folded(decisions[fold]) for fold in range(folds)}
    every = np.concatenate(list(values.values()))
    if METRICS[metric].needs != "classes" and len(np.unique(class_numbers(every))) == 1 and np.ptp(every) > 0:
        metric = evaluation.CHOOSES_THRESHOLD
    elif not evaluation.depends_on_threshold(metric):
        return None
    chosen, gains = [], []
    for fold in range(folds):
        y, unseen = _of_repeat(data, values, fold, training_part_of=fold)
        if len(np.unique(y)) < 2:  # the first block that is tested by time has no earlier ones
            chosen.append(0.0)
            continue
        chosen.append(evaluation.best_threshold(metric, y, unseen, classes))
        tested = data.y[data.test_rows(fold)]
        scores = [evaluation.score_at(metric, tested, values[fold], at, classes) for at in (chosen[-1], 0.0)]
        gains.append(METRICS[metric].gain(*scores))
    noise = float(np.std(gains, ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else np.inf
    if not gains or np.mean(gains) <= noise:
        return None
    return Thresholds(tuple(chosen), evaluation.best_threshold(metric, *_of_repeat(data, values, 0), classes))


def apply(
    chosen: Thresholds,
    costs: Costs | None,
    data: TrainingData,
    fold: int,
    decisions: np.ndarray,
    record: dict[str, Any],
) -> None:
    """Put into the record of a fit what its model reaches with the threshold: metrics of classes, and its errors."""
    classes, y = classes_of(data.y, costs), data.y[data.test_rows(fold)]
    predicted = classes.labels[class_numbers(folded(decisions) - chosen.folds[fold])]
    of_classes = [name for name, metric in METRICS.items() if metric.needs == "classes"]
    record["metrics"] = record["metrics"] | {name: score_of_classes(name, y, predicted, classes) for name in of_classes}
    record["confusion"] = confusion_matrix(y, predicted, labels=classes.labels).tolist()
    record |= {"threshold": chosen.folds[fold], "served_threshold": chosen.served}


def value_at_zero(metric: str, costs: Costs | None, data: TrainingData, columns: np.ndarray) -> float:
    """The mean over the folds of the first repeat without a threshold. columns: decision values of all rows."""
    classes, values = classes_of(data.y, costs), folded(columns)
    parts = [data.test_rows(fold) for fold in range(data.partition.folds_per_repeat)]
    return float(np.mean([evaluation.score_at(metric, data.y[part], values[part], 0.0, classes) for part in parts]))


def _of_repeat(
    data: TrainingData, values: Mapping[int, np.ndarray], fold: int, training_part_of: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Classes and decision values of the unseen rows in the repeat of a fold: of all, or of one training part."""
    size = data.partition.folds_per_repeat
    first = fold // size * size
    of_rows = np.full(len(data.y), np.nan)
    for number in range(first, first + size):
        of_rows[data.test_rows(number)] = values[number]
    chosen = np.isfinite(of_rows) & data.train_rows(training_part_of)
    return data.y[chosen], of_rows[chosen]
