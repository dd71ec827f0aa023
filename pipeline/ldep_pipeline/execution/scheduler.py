"""Runs a plan: takes finished work from the store and sends the rest to a pool, each fit after the study it needs.

Listeners, such as the progress and the MLflow tracker, are told what is done. A study on all rows, which belongs to no
plan, runs in this process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from ldep_pipeline.common import progress
from ldep_pipeline.common.digests import file_digest
from ldep_pipeline.common.errors import UserError, first_line, nearest
from ldep_pipeline.common.files import locked
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Params
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.execution import plan as planning
from ldep_pipeline.execution import thresholds
from ldep_pipeline.execution.model_check import check_models
from ldep_pipeline.execution.plan import TrainingPlan
from ldep_pipeline.execution.pools import Pool
from ldep_pipeline.execution.store import Store
from ldep_pipeline.fitting.fit import FitResult, run_fit
from ldep_pipeline.fitting.study import TuningStudy, run_study
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.fitting.trial import TrialResult, run_trial

Task = tuple[str, int]
"""A model and an outer fold."""
PATIENCE = 10  # seconds for a listener to finish its current event after an error


class Listener:
    """Receives the events of a run; the default ignores them."""

    def training_started(self) -> None:
        """Called once, after `fit_finished` for each fit that was in the store."""

    def trial_finished(self, model: str, fold: int, best: float) -> None: ...

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None: ...


class Listeners(Listener):
    """Passes each event to several listeners in turn."""

    def __init__(self, *listeners: Listener) -> None:
        self.listeners = listeners

    def training_started(self) -> None:
        for listener in self.listeners:
            listener.training_started()

    def trial_finished(self, model: str, fold: int, best: float) -> None:
        for listener in self.listeners:
            listener.trial_finished(model, fold, best)

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        for listener in self.listeners:
            listener.fit_finished(model, fold, record, stored)


class BackgroundListener(Listener):
    """Passes finished fits to a listener in a thread, in order, so that a slow one (a server) delays nobody.

    Otherwise results of workers would not be stored meanwhile, and a kill would lose them. Use it in a `with` block. An
    exception of the listener is raised by the next call, or at the end of the block.
    """

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.events: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()
        self.error: Exception | None = None
        self.cancelled = False
        # A daemon thread: after Ctrl-C nobody waits for a server that does not answer.
        self.thread = threading.Thread(target=self._listen, daemon=True)

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        self._raise_error()
        self.events.put((model, fold, record, stored))

    def __enter__(self) -> BackgroundListener:
        self.thread.start()
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.events.put(None)
        try:
            if kind is None:
                self.thread.join()
                self._raise_error()
        finally:
            self.cancelled = True  # after an error the next run passes on the remaining events, from the store
            self.thread.join(PATIENCE)

    def _raise_error(self) -> None:
        if self.error is not None:
            raise self.error

    def _listen(self) -> None:
        try:
            while (event := self.events.get()) is not None and not self.cancelled:
                self.listener.fit_finished(*event)
        except Exception as error:
            self.error = error


class Scheduler:
    """One run of a plan, which begins with what is in the store.

    `missing` are the fits that are not there. `records` fills with one record per model and fold, whose `tuning` is the
    outcome of its study. `decisions` fills with the decision values of each fold's test rows, if the model has them.
    Only this process writes files: workers get everything with their task, and hand back their results.
    """

    def __init__(self, plan: TrainingPlan, data: TrainingData) -> None:
        self.plan, self.data = plan, data
        self.records: dict[Task, dict[str, Any]] = {}
        self.decisions: dict[Task, np.ndarray] = {}
        self.outcomes: dict[Task, dict[str, Any]] = {}
        self.running: dict[Future[Any], Callable[[Any], None]] = {}
        self.unreported: list[tuple[Task, bool]] = []
        self._take_from_store()
        self.missing = [task for task in plan.fits if task not in self.records]

    def run(self, listener: Listener, pool: Pool | None) -> None:
        """Tell the listener what was in the store, and compute in the pool what is missing. None needs no pool."""
        self.listener = listener
        self._report()
        if pool is None:
            return
        self.pool = pool
        self.listener.training_started()
        # Studies take longest, so they start first. Fits whose study is in the store start with the other fits.
        needed = {self.plan.study_of[task] for task in self.missing if task in self.plan.study_of}
        unfinished = [study for study in self.plan.studies if study in needed and study not in self.outcomes]
        ready = [task for task in self.missing if self.plan.study_of.get(task) not in unfinished]
        for study in sorted(unfinished, key=_fold):
            self._start_study(study)
        for task in ready:
            self._start_fit(task)
        while self.running:
            # A result that is lost ends the run. It comes last, so that the other results are stored.
            for future in sorted(self.pool.wait(self.running), key=_is_lost):
                self.running.pop(future)(self.pool.result(future))
            # After everything is stored and the workers are busy again: a listener may fail.
            self._report()
        self._report()

    def _take_from_store(self) -> None:
        for study, task in self.plan.studies.items():
            outcome = self.plan.store.get(task.key)
            if outcome is not None:
                self.outcomes[study] = outcome
        for fit, fit_task in self.plan.fits.items():
            result = self.plan.store.get_fit(fit_task.key)
            if result is not None:
                self._finish(fit, result, stored=True)

    def _start_study(self, task: Task) -> None:
        def on_trial(finished: int, best: float) -> None:
            self.listener.trial_finished(self.plan.shown_as(task), task[1], best)

        try:
            study = TuningStudy(self.plan.studies[task], self.data, self.pool.batch_seconds, on_trial)
        except ValueError as error:
            self._study_failed(task, error)
        else:
            self._continue_study(task, study)

    def _continue_study(self, task: Task, study: TuningStudy) -> None:
        trial = study.ask()
        if trial is None:
            self._end_study(task, study)
            return

        def done(result: TrialResult) -> None:
            study.tell(result)
            self._continue_study(task, study)

        self.running[self.pool.submit(run_trial, trial)] = done

    def _end_study(self, task: Task, study: TuningStudy) -> None:
        try:
            outcome = study.outcome()
        except ValueError as error:
            self._study_failed(task, error)
        else:
            self.plan.store.put(self.plan.studies[task].key, outcome)
            self._study_finished(task, outcome)

    def _study_failed(self, task: Task, error: ValueError) -> None:
        self._study_finished(task, {"status": "failed", "message": f"{type(error).__name__}: {error}"})

    def _study_finished(self, study: Task, outcome: dict[str, Any]) -> None:
        self.outcomes[study] = outcome
        for task, needed in self.plan.study_of.items():
            if needed == study and task not in self.records:
                self._start_fit(task)

    def _outcome(self, task: Task) -> dict[str, Any]:
        """The outcome of the study that a fit needs; empty if it needs none."""
        study = self.plan.study_of.get(task)
        return self.outcomes.get(study, {}) if study is not None else {}

    def _start_fit(self, task: Task) -> None:
        outcome = self._outcome(task)
        if outcome.get("status") == "failed":
            record = {"status": "failed", "message": outcome["message"], "settings": {}, "solver": None}
            self._finish(task, FitResult(record), stored=False)
            return
        fit = replace(self.plan.fits[task], chosen=outcome.get("chosen", {}))
        if fit.entry.ensemble is not None:
            fit = replace(fit, ensemble=outcome["ensemble"])

        def done(result: FitResult) -> None:
            if result.record["status"] != "failed":  # what failed is tried again in the next run
                self.plan.store.put_fit(fit.key, result)
            self._finish(task, result, stored=False)

        self.running[self.pool.submit(run_fit, fit)] = done

    def _finish(self, task: Task, result: FitResult, stored: bool) -> None:
        self.records[task] = {**result.record, "tuning": self._outcome(task)}
        if result.decisions is not None:
            self.decisions[task] = result.decisions
        self._measure_at_threshold(task[0])
        self.unreported.append((task, stored))

    def _measure_at_threshold(self, model: str) -> None:
        """When all folds of a model are finished, measure it with the threshold that they choose."""
        folds = range(self.plan.folds)
        if any((model, fold) not in self.records for fold in folds):
            return
        costs = self.plan.fits[model, 0].costs
        decisions = {fold: self.decisions[model, fold] for fold in folds if (model, fold) in self.decisions}
        chosen = thresholds.choose(self.plan.metric, costs, self.data, decisions)
        if chosen is not None:
            for fold in folds:
                thresholds.apply(chosen, costs, self.data, fold, decisions[fold], self.records[model, fold])

    def _report(self) -> None:
        finished, self.unreported = self.unreported, []
        for task, stored in finished:
            self.listener.fit_finished(*task, self.records[task], stored)


def tune_on_all_rows(name: str, model: str, params: Params, root: Path = Path()) -> dict[str, Any]:
    """Tune one model on all rows of a data set, which gives the settings of a final model.

    The nested studies of `train` choose settings for their training folds, and so estimate how good the procedure is. A
    study on all rows estimates nothing: there are no rows left to test on. Its outcome has the `chosen` settings, their
    inner score as `value`, the number of trials and the seconds.
    """
    tunable = [candidate for candidate, entry in params.classifiers.items() if entry.is_tuned]
    if model not in tunable:
        raise UserError(f"'{model}' is not one of classifiers with a search; {nearest(model, tunable)}")
    folder, state, store = root / paths.DATA, root / paths.STATE, Store(root / paths.FITS)
    check_models(params.model_copy(update={"models": [model]}), Store(root / paths.BUILT))
    data = load_training_data(name, folder)
    data_digest = planning.fold_digest(file_digest(paths.imputed(name, folder)), data.partition, None)
    task = planning.study_task(name, model, None, params, data_digest, state)
    with locked(root / paths.LOCKS / f"{name}.lock", f"the models of {name}"):
        outcome = store.get(task.key)
        if outcome is None:
            trials = task.entry.trials or params.tuning.trials
            try:
                with progress.of_study(f"{name}, {model}", trials) as on_trial:
                    outcome = run_study(task, data, on_trial)
            except ValueError as error:  # no trial succeeded
                raise UserError(f"{name}: {first_line(error)}; see classifiers.{model} in params.yaml.") from None
            store.put(task.key, outcome)
    return outcome


def _fold(task: Task) -> int:
    return task[1]


def _is_lost(future: Future[Any]) -> bool:
    return future.cancelled() or future.exception() is not None
