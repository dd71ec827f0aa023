"""One trial of a study: the score of one setting by an inner cross-validation. A worker runs it."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from pipeline.fitting import metrics, models, seeds
from pipeline.fitting.one_core import one_core
from pipeline.fitting.specs import Classifier, Impute
from pipeline.fitting.training_data import TrainingData

FoldScores = dict[int, float]


@dataclass(frozen=True)
class TrialTask:
    """What a trial depends on.

    `fold` is the outer fold that is left out, or None to use all rows. `inner_folds` counts the inner folds.
    `known_scores` are scores of this setting from earlier trials, `best_scores` those of the best trial so far. A
    worker hands back what it has after the first fit that ends later than `batch_seconds` from the start.
    """

    entry: Classifier
    settings: dict[str, Any]
    impute: Impute
    fold: int | None
    inner_folds: int
    metric: str
    seed: int
    known_scores: FoldScores
    best_scores: FoldScores
    margin: float
    batch_seconds: float


@dataclass(frozen=True)
class TrialResult:
    """The scores of the inner folds so far, whether the trial was given up, and the error if it failed."""

    scores: FoldScores
    pruned: bool
    error: str | None
    seconds: float
    cpu_seconds: float


def training_rows(data: TrainingData, fold: int | None) -> Any:
    """An index of the rows outside an outer fold; of all rows if `fold` is None."""
    return slice(None) if fold is None else data.fold != fold


def inner_fold_count(y: np.ndarray, wanted: int) -> int:
    """The number of inner folds: each needs a row of each class, so a rare class allows fewer."""
    count = min(wanted, int(np.unique(y, return_counts=True)[1].min()))
    if count < 2:
        raise ValueError("a class has a single row in the training part: no inner cross-validation is possible")
    return count


def run_trial(task: TrialTask, data: TrainingData) -> TrialResult:
    """Fit and score the inner folds in turn, at least one of them. An error inside the model becomes a result."""
    scores: FoldScores = {}
    pruned, error, fitted = False, None, False
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        with one_core(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the outer fit of the chosen setting reports its own
            for number, (train, test) in enumerate(_splits(task, data)):
                score = task.known_scores.get(number)
                if score is None:
                    if fitted and time.perf_counter() - wall >= task.batch_seconds:
                        break
                    score, fitted = _score(task, data, number, train, test), True
                scores[number] = score
                if number + 1 < task.inner_folds and falls_behind(scores, task.best_scores, task.margin):
                    pruned = True
                    break
    except Exception as caught:
        error = f"{type(caught).__name__}: {caught}"
    return TrialResult(scores, pruned, error, time.perf_counter() - wall, time.process_time() - cpu)


def falls_behind(scores: FoldScores, best_scores: FoldScores, margin: float) -> bool:
    """Whether the mean over the folds so far is more than `margin` below the best trial's mean over the same folds.

    Optuna's WilcoxonPruner cannot act on three folds: their smallest p-value is 1/8.
    """
    if not best_scores:
        return False
    return float(np.mean([best_scores[number] - score for number, score in scores.items()])) > margin


def _splits(task: TrialTask, data: TrainingData) -> list[tuple[np.ndarray, np.ndarray]]:
    """Row numbers of the training and the test part of each inner fold."""
    rows = np.arange(len(data.y))[training_rows(data, task.fold)]
    splitter = StratifiedKFold(task.inner_folds, shuffle=True, random_state=seeds.derive(task.seed, "inner"))
    return [(rows[train], rows[test]) for train, test in splitter.split(rows, data.y[rows])]


def _score(task: TrialTask, data: TrainingData, number: int, train: np.ndarray, test: np.ndarray) -> float:
    settings = {**task.entry.params, **task.settings, **task.entry.while_tuning}
    pipe = models.pipeline(task.entry, settings, task.impute, seeds.derive(task.seed, "fit", number))
    pipe.fit(data.X[train], data.y[train])
    # Only the metric that counts: computing all of them takes longer than many a fit.
    value = metrics.score(task.metric, pipe, data.X[test], data.y[test], pipe.predict(data.X[test]))
    if value is None:
        raise ValueError(f"{task.entry.class_} gives no scores, which tuning.metric: {task.metric} needs")
    return value
