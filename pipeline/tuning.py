"""Choosing a model's settings by an inner cross-validation of one training part.

An Optuna study in a journal file, driven trial by trial: the driver asks and tells, a worker scores. It continues after
a kill as if nothing had happened: the k-th trial's sampler is seeded by k, a trial that was running is tried again, and
what the journal has of its folds is not computed again. Trials of one study follow one another, so the numbers depend
neither on interruptions nor on where and beside what else they are computed.
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

from pipeline import evaluation, models, seeds
from pipeline.evaluation import Scored, Scores, Setting
from pipeline.fitting import Rows
from pipeline.params import Classifier, Impute, Tuning

optuna.logging.set_verbosity(optuna.logging.WARNING)
NAME = "tuning"
ERROR, SECONDS, CPU = "error", "seconds", "cpu_seconds"


@dataclass(frozen=True)
class Tune:
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


class Study:
    """A study in the driver: `ask` what to score next, `tell` what it gave, until there is nothing to ask."""

    def __init__(self, work: Tune, rows: Rows) -> None:
        self.work = work
        self.trials = work.entry.trials or work.tuning.trials
        self.folds = evaluation.inner_folds(rows.y[evaluation.part(rows, work.fold)], work.tuning.folds)
        self.study = open_study(work.journal)
        done = finished(self.study)
        if self._used_up(done) and all(ERROR in trial.user_attrs for trial in done):
            work.journal.unlink()  # what failed is tried again, as a fit is: it may have been for want of memory
            self.study = open_study(work.journal)
        self.known = known(self.study)

    def ask(self) -> Setting | None:
        done = finished(self.study)
        index, work = len(done), self.work
        if self._used_up(done):
            return None
        self.study.sampler = optuna.samplers.TPESampler(seed=seeds.derive(work.seed, "trial", index))
        waiting = self.study.get_trials(deepcopy=False, states=(TrialState.WAITING,))
        if index < len(work.entry.first) and not waiting:
            self.study.enqueue_trial(models.as_trial(work.entry.first[index], work.entry.search))
        self.trial = self.study.ask()
        settings = models.suggest(self.trial, work.entry.search)
        return Setting(
            work.entry, settings, work.impute, work.fold, self.folds, work.tuning.metric, work.seed,
            known=self.known.get(_name(self.trial.params), {}), best=self._best(), behind=work.tuning.behind,
        )  # fmt: skip

    def tell(self, scored: Scored) -> None:
        """Report the folds of the trial that was asked for, and end it."""
        trial = self.trial
        self.known.setdefault(_name(trial.params), {}).update(scored.scores)
        for number, score in scored.scores.items():
            trial.report(score, number)
        trial.set_user_attr(SECONDS, scored.seconds)
        trial.set_user_attr(CPU, scored.cpu_seconds)
        if scored.error is not None:
            trial.set_user_attr(ERROR, scored.error)
            self.study.tell(trial, state=TrialState.FAIL)
        elif scored.pruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        else:
            self.study.tell(trial, float(np.mean(list(scored.scores.values()))))

    def best(self) -> float:
        """The best value so far."""
        scores = self._best()
        return float(np.mean(list(scores.values()))) if scores else float("nan")

    def outcome(self) -> dict[str, Any]:
        record = outcome(self.study, self.trials, self.work.tuning.seconds, self.work.model)
        record["chosen"] = models.from_trial(record.pop("params"), self.work.entry.search)
        return record

    def _used_up(self, done: list[FrozenTrial]) -> bool:
        return len(done) >= self.trials or (bool(done) and spent(done) > self.work.tuning.seconds)

    def _best(self) -> Scores:
        complete = self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return dict(_best_of(complete).intermediate_values) if complete else {}


def run(work: Tune, rows: Rows, tick: Callable[[float], None] = lambda best: None) -> dict[str, Any]:
    """Run or continue a study in this process; `tick` hears the best value after each trial."""
    study = Study(work, rows)
    while (setting := study.ask()) is not None:
        study.tell(evaluation.evaluate(setting, rows))
        tick(study.best())
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


def known(study: optuna.Study) -> dict[str, Scores]:
    """What each setting gave in each inner fold, interrupted trials included."""
    values: dict[str, Scores] = {}
    for trial in study.get_trials(deepcopy=False):
        values.setdefault(_name(trial.params), {}).update(trial.intermediate_values)
    return values


def spent(trials: list[FrozenTrial]) -> float:
    """Seconds that workers were at trials, those of earlier runs too; not those that a trial waited for a worker."""
    return sum(trial.user_attrs.get(SECONDS, 0.0) for trial in trials)


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
