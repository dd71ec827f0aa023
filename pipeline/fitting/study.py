"""Choosing a model's settings by an inner cross-validation of one training part.

An Optuna study in a journal file, driven step by step: the driver asks and tells, a worker scores. It continues after a
kill as if nothing had happened, and no more than the fit that was running is lost: the k-th trial's sampler is seeded
by k, a trial that was running is tried again, and what the journal has of its folds is not computed again. Trials of
one study follow one another, so the numbers depend neither on interruptions nor on where and beside what else they are
computed.
"""

from __future__ import annotations

import json
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

from pipeline.fitting import models, seeds
from pipeline.fitting.specs import Classifier, Impute, Tuning
from pipeline.fitting.training_data import TrainingData
from pipeline.fitting.trial import FoldScores, TrialResult, TrialTask, inner_folds, part, run_trial

optuna.logging.set_verbosity(optuna.logging.WARNING)
NAME = "tuning"
ERROR = "error"
COST = "cost"  # seconds and CPU seconds of the trial's fits so far


Tick = Callable[[int, float], None]
"""Hears, after each trial, how many are done and the best value."""


def ignore_progress(done: int, best: float) -> None: ...


@dataclass(frozen=True)
class StudyTask:
    """What a study depends on. `fold` is the outer fold that is left out; None tunes on all rows."""

    model: str
    fold: int | None
    entry: Classifier
    impute: Impute
    tuning: Tuning
    seed: int
    key: str
    journal: Path


class NoLock(BaseJournalFileLock):
    """A study has one writer: train holds the lock of its set. Optuna's own costs more than TPE; a kill leaves it."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None: ...


class TuningStudy:
    """A study in the driver: `ask` what to score next, `tell` what it gave, until there is nothing to ask.

    A worker hands back what it has of a trial when a fit ends later than `grain` seconds from where it began: with 0
    after each fit.
    """

    def __init__(self, work: StudyTask, rows: TrainingData, grain: float = 0.0, tick: Tick = ignore_progress) -> None:
        self.work, self.grain, self.tick = work, grain, tick
        self.trials = work.entry.trials or work.tuning.trials
        self.folds = inner_folds(rows.y[part(rows, work.fold)], work.tuning.folds)
        self.study = open_study(work.journal)
        done = finished(self.study)
        if self._used_up(done) and all(ERROR in trial.user_attrs for trial in done):
            work.journal.unlink()  # what failed is tried again, as a fit is: it may have been for want of memory
            self.study = open_study(work.journal)
        self.known = known(self.study)
        self.trial: optuna.Trial | None = None

    def ask(self) -> TrialTask | None:
        """The trial that is under way, with what is known of it, or a new one."""
        work = self.work
        if self.trial is None:
            done = finished(self.study)
            if self._used_up(done):
                return None
            self.trial = self._next(len(done))
            self.settings = models.suggest(self.trial, work.entry.search)
            self.cost = np.zeros(2)
        return TrialTask(
            work.entry, self.settings, work.impute, work.fold, self.folds, work.tuning.metric, work.seed,
            self._known(self.trial), self._best(), work.tuning.behind, self.grain,
        )  # fmt: skip

    def tell(self, scored: TrialResult) -> None:
        """Write down what the trial that was asked for has given, and end it if it is at its end."""
        trial = self.trial
        assert trial is not None
        self.cost += (scored.seconds, scored.cpu_seconds)
        trial.set_user_attr(COST, self.cost.tolist())
        told = self.study.get_trials(deepcopy=False)[trial.number].intermediate_values
        for number, score in scored.scores.items():
            if number not in told:
                trial.report(score, number)
        self._known(trial).update(scored.scores)
        if scored.error is not None:
            trial.set_user_attr(ERROR, scored.error)
            self.study.tell(trial, state=TrialState.FAIL)
        elif scored.pruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        elif len(scored.scores) == self.folds:
            self.study.tell(trial, float(np.mean(list(scored.scores.values()))))
        else:
            return
        self.trial = None
        self.tick(len(finished(self.study)), self.best())

    def _next(self, index: int) -> optuna.Trial:
        work = self.work
        self.study.sampler = optuna.samplers.TPESampler(seed=seeds.derive(work.seed, "trial", index))
        waiting = self.study.get_trials(deepcopy=False, states=(TrialState.WAITING,))
        if index < len(work.entry.first) and not waiting:
            self.study.enqueue_trial(models.as_trial(work.entry.first[index], work.entry.search))
        return self.study.ask()

    def _known(self, trial: optuna.Trial) -> FoldScores:
        return self.known.setdefault(_name(trial.params), {})

    def best(self) -> float:
        """The best value so far."""
        scores = self._best()
        return float(np.mean(list(scores.values()))) if scores else float("nan")

    def outcome(self) -> dict[str, Any]:
        record = outcome(self.study, self.trials, self.work.tuning.seconds, self.work.model)
        record["chosen"] = models.from_trial(record.pop("params"), self.work.entry.search)
        return record

    def _used_up(self, done: list[FrozenTrial]) -> bool:
        return len(done) >= self.trials or spent(self.study, done)[0] > self.work.tuning.seconds

    def _best(self) -> FoldScores:
        complete = self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return dict(_best_of(complete).intermediate_values) if complete else {}


def run_study(work: StudyTask, rows: TrainingData, tick: Tick = ignore_progress) -> dict[str, Any]:
    """Run or continue a study in this process."""
    study = TuningStudy(work, rows, tick=tick)
    while (setting := study.ask()) is not None:
        study.tell(run_trial(setting, rows))
    return study.outcome()


def open_study(journal: Path) -> optuna.Study:
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


def known(study: optuna.Study) -> dict[str, FoldScores]:
    """What each setting gave in each inner fold, interrupted trials included."""
    values: dict[str, FoldScores] = {}
    for trial in study.get_trials(deepcopy=False):
        values.setdefault(_name(trial.params), {}).update(trial.intermediate_values)
    return values


def spent(study: optuna.Study, done: list[FrozenTrial]) -> np.ndarray:
    """Seconds and CPU seconds that workers were at fits up to the last of these trials, interrupted ones included."""
    last = done[-1].number if done else -1
    trials = study.get_trials(deepcopy=False)[: last + 1]
    return np.sum([trial.user_attrs.get(COST, (0.0, 0.0)) for trial in trials] or [(0.0, 0.0)], axis=0)


def _name(params: dict[str, Any]) -> str:
    return json.dumps(params, sort_keys=True)


def _best_of(complete: list[FrozenTrial]) -> FrozenTrial:
    return max(complete, key=lambda trial: (trial.value, -trial.number))


def outcome(study: optuna.Study, trials: int, seconds: float, model: str) -> dict[str, Any]:
    """What the first `trials` trials came to, as plain values: a journal may hold more, of a larger budget."""
    done = finished(study)[:trials]
    errors = [trial.user_attrs[ERROR] for trial in done if ERROR in trial.user_attrs]
    complete = [trial for trial in done if trial.state == TrialState.COMPLETE]
    if not complete:
        raise ValueError(f"tuning {model}: no trial of {len(done)} succeeded; the last: {errors[-1]}")
    best = _best_of(complete)
    used, cpu_used = spent(study, done).tolist()
    message = f"tuning stopped after {len(done)} of {trials} trials: {seconds:g} s" if len(done) < trials else ""
    return {
        "value": best.value,
        "params": best.params,
        "trials": len(done),
        "pruned": sum(trial.state == TrialState.PRUNED for trial in done),
        "failed": len(errors),
        "seconds": used,
        "cpu_seconds": cpu_used,
        "message": message,
    }
