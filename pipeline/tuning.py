"""Choosing a model's settings by an inner cross-validation of one training part.

An Optuna study in a journal file, driven trial by trial. It continues after a kill as if nothing had happened: the k-th
trial's sampler is seeded by k, a trial that was running is tried again, and what its folds had already given is read
from the journal. So the numbers depend neither on interruptions nor on how many studies run side by side.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.storages.journal._file import BaseJournalFileLock
from optuna.trial import FrozenTrial, TrialState
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from pipeline import fitting, models, seeds
from pipeline.params import Classifier, Impute, Tuning
from pipeline.store import Store

optuna.logging.set_verbosity(optuna.logging.WARNING)
NAME = "tuning"
ERROR, CPU = "error", "cpu_seconds"


@dataclass(frozen=True)
class Tune:
    """What a study depends on. `fold` is the outer fold that is left out; None tunes on all rows."""

    dataset: str
    folder: Path
    model: str
    fold: int | None
    entry: Classifier
    impute: Impute
    tuning: Tuning
    seed: int
    key: str
    store: Path
    journal: Path


class NoLock(BaseJournalFileLock):
    """A study has one writer: train holds the lock of its set. Optuna's own costs more than TPE; a kill leaves it."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None: ...


class Behind(optuna.pruners.BasePruner):
    """Gives a trial up when, over the folds so far, its mean is this far behind the best trial's on the same folds.

    Optuna's WilcoxonPruner cannot act on three folds: their smallest p-value is 1/8.
    """

    def __init__(self, margin: float) -> None:
        self.margin = margin

    def prune(self, study: optuna.Study, trial: FrozenTrial) -> bool:
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if not complete:
            return False
        best = max(complete, key=lambda other: (other.value, -other.number)).intermediate_values
        steps = trial.intermediate_values
        return float(np.mean([best[step] - value for step, value in steps.items()])) > self.margin


def run(work: Tune, tick: Callable[[float], None] = lambda best: None) -> dict[str, Any]:
    """Run or continue the study, and put its outcome into the store; `tick` hears the best value after each trial."""
    rows = fitting.load(work.dataset, work.folder)
    part = slice(None) if work.fold is None else rows.fold != work.fold
    trials = work.entry.trials or work.tuning.trials
    study = open_study(work.journal, work.tuning.behind)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the final fit of the chosen setting reports its own
        evaluate = Evaluation(work, rows.X[part], rows.y[part], known(study))
        while (index := len(finished(study))) < trials:
            if index and spent(finished(study)) > work.tuning.seconds:
                break
            one_trial(study, index, work, evaluate)
            tick(_best(study))
    record = outcome(study, trials, work.tuning.seconds, work.model)
    record["chosen"] = models.from_trial(record.pop("params"), work.entry.search)
    Store(work.store).put(work.key, record)
    return record


def open_study(journal: Path, behind: float) -> optuna.Study:
    """Open a journal, mended if its writer was killed."""
    journal.parent.mkdir(parents=True, exist_ok=True)
    if journal.exists():
        content = journal.read_bytes()
        whole = content.rfind(b"\n") + 1  # a line that was cut off would make the next one unreadable
        if whole < len(content):
            with journal.open("r+b") as file:
                file.truncate(whole)
    study = optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(journal), lock_obj=NoLock())),
        study_name=NAME,
        direction="maximize",
        pruner=Behind(behind),
        load_if_exists=True,
    )
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        study.tell(trial.number, state=TrialState.FAIL)
    return study


def finished(study: optuna.Study) -> list[FrozenTrial]:
    """The trials that count: a failed one only if its settings failed, not if it was interrupted."""
    return [
        trial
        for trial in study.get_trials(deepcopy=False)
        if trial.state in (TrialState.COMPLETE, TrialState.PRUNED)
        or (trial.state == TrialState.FAIL and ERROR in trial.user_attrs)
    ]


def known(study: optuna.Study) -> dict[str, dict[int, float]]:
    """What each setting gave in each inner fold, interrupted trials included."""
    values: dict[str, dict[int, float]] = {}
    for trial in study.get_trials(deepcopy=False):
        values.setdefault(json.dumps(trial.params, sort_keys=True), {}).update(trial.intermediate_values)
    return values


def spent(trials: list[FrozenTrial]) -> float:
    """Seconds of trials, of earlier processes too."""
    return sum(trial.duration.total_seconds() for trial in trials if trial.duration)


@dataclass
class Evaluation:
    """The score of settings in an inner fold; each is computed once."""

    work: Tune
    X: np.ndarray
    y: np.ndarray
    cache: dict[str, dict[int, float]]

    def __post_init__(self) -> None:
        # An inner fold needs a row of each class; a rarer class than that gives fewer folds.
        folds = min(self.work.tuning.folds, int(np.unique(self.y, return_counts=True)[1].min()))
        if folds < 2:
            raise ValueError("a class has a single row in the training part: no inner cross-validation is possible")
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seeds.derive(self.work.seed, "inner"))
        self.splits = list(splitter.split(self.X, self.y))

    def __call__(self, params: dict[str, Any], settings: dict[str, Any], number: int) -> float:
        held = self.cache.setdefault(json.dumps(params, sort_keys=True), {})
        if number not in held:
            train, test = self.splits[number]
            work = self.work
            values = {**work.entry.params, **settings, **work.entry.while_tuning}
            pipe = models.pipeline(work.entry, values, work.impute, seeds.derive(work.seed, "fit", number))
            pipe.fit(self.X[train], self.y[train])
            # Only the one that counts: all of them take longer than many a fit.
            X, y = self.X[test], self.y[test]
            value = fitting.score(work.tuning.metric, pipe, X, y, pipe.predict(X))
            if value is None:
                raise ValueError(f"{work.entry.class_} gives no scores, which tuning.metric: roc_auc needs")
            held[number] = value
        return held[number]


def one_trial(study: optuna.Study, index: int, work: Tune, evaluate: Evaluation) -> None:
    """Ask, evaluate fold by fold, tell."""
    entry = work.entry
    study.sampler = optuna.samplers.TPESampler(seed=seeds.derive(work.seed, "trial", index))
    if index < len(entry.first) and not study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
        study.enqueue_trial(models.as_trial(entry.first[index], entry.search))
    trial = study.ask()
    began = time.process_time()
    settings = models.suggest(trial, entry.search)
    values = []
    try:
        for number in range(len(evaluate.splits)):
            values.append(evaluate(trial.params, settings, number))
            trial.report(values[-1], number)
            if number + 1 < len(evaluate.splits) and trial.should_prune():
                trial.set_user_attr(CPU, time.process_time() - began)
                study.tell(trial, state=TrialState.PRUNED)
                return
    except Exception as error:
        trial.set_user_attr(ERROR, f"{type(error).__name__}: {error}")
        study.tell(trial, state=TrialState.FAIL)
        return
    trial.set_user_attr(CPU, time.process_time() - began)
    study.tell(trial, float(np.mean(values)))


def _best(study: optuna.Study) -> float:
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return max((trial.value for trial in complete if trial.value is not None), default=float("nan"))


def outcome(study: optuna.Study, trials: int, seconds: float, model: str) -> dict[str, Any]:
    """What the first `trials` trials came to, as plain values: a journal may hold more, of a larger budget."""
    done = finished(study)[:trials]
    errors = [trial.user_attrs[ERROR] for trial in done if ERROR in trial.user_attrs]
    complete = [trial for trial in done if trial.state == TrialState.COMPLETE]
    if not complete:
        raise ValueError(f"tuning {model}: no trial of {len(done)} succeeded; the last: {errors[-1]}")
    best = max(complete, key=lambda trial: (trial.value, -trial.number))
    message = f"tuning stopped after {len(done)} of {trials} trials: {seconds:g} s" if len(done) < trials else ""
    return {
        "value": best.value,
        "params": best.params,
        "trials": len(done),
        "pruned": sum(trial.state == TrialState.PRUNED for trial in done),
        "failed": len(errors),
        "seconds": spent(done),
        "cpu_seconds": sum(trial.user_attrs.get(CPU, 0.0) for trial in done),
        "message": message,
    }
