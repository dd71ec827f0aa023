"""Runs a plan: takes finished work from the store and sends the rest to a pool, each fit after the study it needs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np

from pipeline.execution import stored_fits
from pipeline.execution.listeners import Listener
from pipeline.execution.plan import Plan
from pipeline.execution.pools.base import Pool
from pipeline.fitting.fit import FitResult, run_fit
from pipeline.fitting.study import TuningStudy
from pipeline.fitting.training_data import TrainingData
from pipeline.fitting.trial import TrialResult, run_trial

Task = tuple[str, int]
"""A model and an outer fold."""


class Scheduler:
    """One run of a plan, which begins with what is in the store.

    `missing` are the fits that are not there. `records` fills with one record per model and fold, whose `tuning` is the
    outcome of its study. `decisions` fills with the decision values of each fold's test rows, if the model has them.
    Only this process writes files: workers get everything with their task, and hand back their results.
    """

    def __init__(self, plan: Plan, data: TrainingData) -> None:
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
            result = stored_fits.load(self.plan.store, fit_task.key)
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
            if result.record["status"] == "ok":  # what failed is tried again in the next run
                stored_fits.save(self.plan.store, fit.key, result)
            self._finish(task, result, stored=False)

        self.running[self.pool.submit(run_fit, fit)] = done

    def _finish(self, task: Task, result: FitResult, stored: bool) -> None:
        self.records[task] = {**result.record, "tuning": self._outcome(task)}
        if result.decisions is not None:
            self.decisions[task] = result.decisions
        self.unreported.append((task, stored))

    def _report(self) -> None:
        finished, self.unreported = self.unreported, []
        for task, stored in finished:
            self.listener.fit_finished(*task, self.records[task], stored)


def _fold(task: Task) -> int:
    return task[1]


def _is_lost(future: Future[Any]) -> bool:
    return future.cancelled() or future.exception() is not None
