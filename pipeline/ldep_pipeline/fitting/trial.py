"""One trial of a study: the score of one setting by an inner cross-validation. A worker runs it."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ldep.estimators import member_votes
from ldep.model import folded
from ldep_pipeline.fitting import models
from ldep_pipeline.fitting.models import one_core
from ldep_pipeline.fitting.specs import Classifier, Costs, Impute
from ldep_pipeline.fitting.training_data import Splits, TrainingData
from ldep_pipeline.metrics import evaluation
from ldep_pipeline.metrics.metric import METRICS, Metric

FoldScores = dict[int, float]
# The standard deviation of the difference of two accuracies is sqrt(q / rows), where q is the share of rows on which
# the models disagree: with 10 % this is three of them. On 58 problems with two classes ensembles gained
# half a point by the trials that this completes, and no more without any pruning.
CHANCE = 1.0


@dataclass(frozen=True)
class TrialTask:
    """What a trial depends on.

    `fold` is the outer fold that is left out, or None to use all rows. `inner_folds` counts the inner folds.
    `known_scores` are scores of this setting from earlier trials, `best_scores` those of the best trial so far. A
    worker hands back what it has after the first fit that ends later than `batch_seconds` from the start. With
    `keep_votes` it also hands back the votes of the models on the rows that they have not seen, for an ensemble.
    """

    entry: Classifier
    settings: dict[str, Any]
    impute: Impute
    fold: int | None
    inner_folds: int
    metric: str
    costs: Costs | None
    seed: int
    known_scores: FoldScores
    best_scores: FoldScores
    margin: float
    batch_seconds: float
    keep_votes: bool


@dataclass(frozen=True)
class TrialResult:
    """The scores of the inner folds so far, whether the trial was given up, and the error if it failed.

    `votes` are those of the inner folds that this worker has fitted.
    """

    scores: FoldScores
    votes: dict[int, np.ndarray]
    pruned: bool
    error: str | None
    seconds: float
    cpu_seconds: float


def inner_fold_count(data: TrainingData, fold: int | None, wanted: int, seed: int) -> int:
    """The number of inner folds of a study: its parts need rows of each class, so a rare class allows fewer."""
    rows = np.flatnonzero(data.train_rows(fold))
    return data.partition.inner_fold_count(rows, data.y, wanted, models.derive_seed(seed, "inner"))


def run_trial(task: TrialTask, data: TrainingData) -> TrialResult:
    """Fit and score the inner folds in turn, at least one of them. An error inside the model becomes a result."""
    scores: FoldScores = {}
    votes: dict[int, np.ndarray] = {}
    pruned, error, fitted, rows = False, None, False, 0
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        with one_core(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the outer fit of the chosen setting reports its own
            for number, (train, test) in enumerate(inner_splits(data, task.fold, task.inner_folds, task.seed)):
                score = task.known_scores.get(number)
                if score is None:
                    if fitted and time.perf_counter() - wall >= task.batch_seconds:
                        break
                    seed = inner_seed(task.seed, number)
                    pipe = fit_inner_model(task.entry, task.settings, task.impute, data, train, seed)
                    fitted = True
                    score = _score(task, pipe, data, test)
                    if task.keep_votes:
                        votes[number] = member_votes(pipe, data.X[test], data.train_classes(task.fold))
                scores[number] = score
                rows += len(test)
                last = number + 1 == task.inner_folds
                if not last and falls_behind(scores, task.best_scores, task.margin, rows, METRICS[task.metric]):
                    pruned = True
                    break
    except Exception as caught:
        error = f"{type(caught).__name__}: {caught}"
    return TrialResult(scores, votes, pruned, error, time.perf_counter() - wall, time.process_time() - cpu)


def falls_behind(scores: FoldScores, best_scores: FoldScores, margin: float, rows: int, metric: Metric) -> bool:
    """Whether the mean over the folds so far is worse than the best trial's over the same folds, and not by chance.

    It is if it is worse by more than `margin` and by more than `CHANCE / sqrt(rows)`, where `rows` were scored: with
    100 rows, two equally good models may differ by several points. Optuna's WilcoxonPruner cannot act on three folds:
    their smallest p-value is 1/8.
    """
    if not best_scores:
        return False
    behind = float(np.mean([metric.gain(best_scores[number], score) for number, score in scores.items()]))
    return behind > max(margin, CHANCE / np.sqrt(rows))


def inner_splits(data: TrainingData, fold: int | None, count: int, seed: int) -> Splits:
    """Row numbers of the training and the test part of each inner fold of a study with this seed."""
    rows = np.flatnonzero(data.train_rows(fold))
    return data.partition.inner_splits(rows, data.y, count, models.derive_seed(seed, "inner"))


def fit_inner_model(
    entry: Classifier,
    settings: dict[str, Any],
    impute: Impute,
    data: TrainingData,
    train: np.ndarray,
    seed: int,
) -> Pipeline:
    """Fit the model of one inner fold. The same arguments give the same model, bit for bit."""
    shape = len(train), data.X.shape[1]
    wanted, classes = {**settings, **entry.while_tuning}, len(np.unique(data.y))
    pipe = models.pipeline(entry, models.settings_for(entry, wanted, *shape, classes=classes), impute, seed)
    models.fit_pipeline(pipe, data.X[train], data.y[train], data.partition, train, seed)
    return pipe


def inner_seed(seed: int, number: int) -> int:
    """The seed of the models of one inner fold in a study with this seed."""
    return models.derive_seed(seed, "fit", number)


def _score(task: TrialTask, pipe: Pipeline, data: TrainingData, test: np.ndarray) -> float:
    # Only the metric that counts: computing all of them takes longer than many a fit.
    classes = evaluation.classes_of(data.y, task.costs)
    X, y = data.X[test], data.y[test]
    if classes.positive is not None and evaluation.depends_on_threshold(task.metric):
        # With the best threshold of these rows: a threshold is chosen afterwards, whatever the settings.
        columns = evaluation.decision_columns(pipe, X, classes.labels)
        if columns is not None:
            values = folded(columns)
            return evaluation.score_at(
                task.metric, y, values, evaluation.best_threshold(task.metric, y, values, classes), classes
            )
    value = evaluation.score(task.metric, pipe, X, y, pipe.predict(X), classes)
    if value is None:
        needs = METRICS[task.metric].needs
        raise ValueError(f"{task.entry.class_} gives no {needs}, which metric: {task.metric} needs")
    return value
