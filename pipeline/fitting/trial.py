"""The score of one setting by an inner cross-validation: what a worker does for a study."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from pipeline.fitting import metrics, models, seeds
from pipeline.fitting.specs import Classifier, Impute
from pipeline.fitting.training_data import TrainingData

FoldScores = dict[int, float]


@dataclass(frozen=True)
class TrialTask:
    """One trial. `fold` is the outer fold that is left out (None: no row is); `folds` counts the inner ones.

    `known` is what the setting has given before; `best` the best trial's scores, empty if there is none. After a fit
    that ends later than `grain` seconds from the start, a worker hands back what it has.
    """

    entry: Classifier
    settings: dict[str, Any]
    impute: Impute
    fold: int | None
    folds: int
    metric: str
    seed: int
    known: FoldScores
    best: FoldScores
    behind: float
    grain: float


@dataclass(frozen=True)
class TrialResult:
    """The score of each inner fold so far, whether the trial is given up, and why it failed, if it did."""

    scores: FoldScores
    pruned: bool
    error: str | None
    seconds: float
    cpu_seconds: float


def part(rows: TrainingData, fold: int | None) -> Any:
    """Which rows a study may see."""
    return slice(None) if fold is None else rows.fold != fold


def inner_folds(y: np.ndarray, wanted: int) -> int:
    """An inner fold needs a row of each class; a rarer class than that gives fewer folds."""
    folds = min(wanted, int(np.unique(y, return_counts=True)[1].min()))
    if folds < 2:
        raise ValueError("a class has a single row in the training part: no inner cross-validation is possible")
    return folds


def run_trial(work: TrialTask, rows: TrainingData) -> TrialResult:
    """Fit and score fold by fold, one at least. What goes wrong inside the model is a result."""
    scores: FoldScores = {}
    pruned, error, fitted = False, None, False
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the final fit of the chosen setting reports its own
            for number, (train, test) in enumerate(_splits(work, rows)):
                known = work.known.get(number)
                if known is None:
                    if fitted and time.perf_counter() - wall >= work.grain:
                        break
                    known, fitted = _score(work, rows, number, train, test), True
                scores[number] = known
                if number + 1 < work.folds and falls_behind(scores, work.best, work.behind):
                    pruned = True
                    break
    except Exception as caught:
        error = f"{type(caught).__name__}: {caught}"
    return TrialResult(scores, pruned, error, time.perf_counter() - wall, time.process_time() - cpu)


def falls_behind(scores: FoldScores, best: FoldScores, margin: float) -> bool:
    """Is the mean, over the folds so far, this far behind the best trial's on the same folds?

    Optuna's WilcoxonPruner cannot act on three folds: their smallest p-value is 1/8.
    """
    return bool(best) and float(np.mean([best[number] - score for number, score in scores.items()])) > margin


def _splits(work: TrialTask, rows: TrainingData) -> list[tuple[np.ndarray, np.ndarray]]:
    """Row numbers of the training and test part of each inner fold."""
    seen = np.arange(len(rows.y))[part(rows, work.fold)]
    splitter = StratifiedKFold(work.folds, shuffle=True, random_state=seeds.derive(work.seed, "inner"))
    return [(seen[train], seen[test]) for train, test in splitter.split(seen, rows.y[seen])]


def _score(work: TrialTask, rows: TrainingData, number: int, train: np.ndarray, test: np.ndarray) -> float:
    values = {**work.entry.params, **work.settings, **work.entry.while_tuning}
    pipe = models.pipeline(work.entry, values, work.impute, seeds.derive(work.seed, "fit", number))
    pipe.fit(rows.X[train], rows.y[train])
    # Only the metric that counts: all of them take longer than many a fit.
    value = metrics.score(work.metric, pipe, rows.X[test], rows.y[test], pipe.predict(rows.X[test]))
    if value is None:
        raise ValueError(f"{work.entry.class_} gives no scores, which tuning.metric: {work.metric} needs")
    return value
