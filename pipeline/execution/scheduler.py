"""Runs a plan: what the store holds is taken from it, the rest goes to a pool, each fit after the study it needs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

import numpy as np

from pipeline.config.params import Execution
from pipeline.execution import pools
from pipeline.execution.plan import Plan
from pipeline.fitting.fit import FitResult, run_fit
from pipeline.fitting.study import TuningStudy
from pipeline.fitting.training_data import TrainingData
from pipeline.fitting.trial import TrialResult, run_trial

Task = tuple[str, int]
PATIENCE = 10  # seconds for a listener to end what it is at, after an error


class Listener:
    """What a run tells while it goes on; the default hears nothing."""

    def trial_finished(self, model: str, fold: int, best: float) -> None: ...

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None: ...


class Listeners(Listener):
    """Several, told in turn."""

    def __init__(self, *listeners: Listener) -> None:
        self.listeners = listeners

    def trial_finished(self, model: str, fold: int, best: float) -> None:
        for listener in self.listeners:
            listener.trial_finished(model, fold, best)

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        for listener in self.listeners:
            listener.fit_finished(model, fold, record, stored)


class BackgroundListener(Listener):
    """Tells a listener in a thread of its own, in order: one that is slow to hear, as a server may be, delays nobody.

    What workers gave meanwhile would not be stored, and a kill would lose it. `with` it; what the listener raises is
    raised by the next call, or at the end.
    """

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.told: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()
        self.error: Exception | None = None
        self.dropped = False
        # A daemon: after Ctrl-C nobody waits for a server that does not answer.
        self.thread = threading.Thread(target=self._listen, daemon=True)

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        self._raise()
        self.told.put((model, fold, record, stored))

    def __enter__(self) -> BackgroundListener:
        self.thread.start()
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.told.put(None)
        try:
            if kind is None:
                self.thread.join()
                self._raise()
        finally:
            self.dropped = True  # after an error: what it has not heard yet is told by the next run, from the store
            self.thread.join(PATIENCE)

    def _raise(self) -> None:
        if self.error is not None:
            raise self.error

    def _listen(self) -> None:
        try:
            while (news := self.told.get()) is not None and not self.dropped:
                self.listener.fit_finished(*news)
        except Exception as error:
            self.error = error


class Scheduler:
    """One run of a plan. `records` fills with one record per model and fold; its `tuning` is the study's outcome.
    `decisions` fills with the decision values of each fold's test rows, where the model has them.

    Only this process writes: workers get what they need with their task, and hand back what they found.
    """

    def __init__(self, plan: Plan, rows: TrainingData, listener: Listener) -> None:
        self.plan, self.rows, self.listener = plan, rows, listener
        self.records: dict[Task, dict[str, Any]] = {}
        self.decisions: dict[Task, np.ndarray] = {}
        self.choices: dict[Task, dict[str, Any]] = {}
        self.running: dict[Future[Any], Callable[[Any], None]] = {}
        self.news: list[tuple[Task, bool]] = []

    def run(self, execution: Execution) -> None:
        self._take_from_store()
        self._tell()
        missing = [task for task in self.plan.fits if task not in self.records]
        if not missing:
            return
        with pools.open_pool(execution, self.rows) as self.pool:
            waiting_for = {self.plan.after[task] for task in missing if task in self.plan.after}
            # Studies take longest: first. A fit whose study is in the store starts with the others.
            for study in sorted(waiting_for - set(self.choices), key=lambda task: task[1]):
                self._start_study(study)
            for task in missing:
                if task not in self.plan.after or self.plan.after[task] in self.choices:
                    self._start_fit(task)
            while self.running:
                # One whose worker was killed ends the run: last, so that what others gave is kept.
                for future in sorted(self.pool.wait(self.running), key=_is_lost):
                    self.running.pop(future)(self.pool.result(future))
                # When all that came back is stored, and the workers have something to do: who listens may fail.
                self._tell()
        self._tell()

    def _take_from_store(self) -> None:
        for study, tune in self.plan.studies.items():
            choice = self.plan.store.get(tune.key)
            if choice is not None:
                self.choices[study] = choice
        for task, fit in self.plan.fits.items():
            record = self.plan.store.get(fit.key)
            if record is None:
                continue
            if record["has_decisions"]:
                values = self.plan.store.get_array(fit.key)
                if values is None:  # the file is gone or damaged: the fit is done again
                    continue
                self.decisions[task] = values
            self._finish(task, record, stored=True)

    def _start_study(self, task: Task) -> None:
        try:
            study = TuningStudy(
                self.plan.studies[task],
                self.rows,
                self.pool.grain,
                lambda _, best: self.listener.trial_finished(*task, best),
            )
        except ValueError as error:
            self._study_failed(task, error)
        else:
            self._go_on(task, study)

    def _go_on(self, task: Task, study: TuningStudy) -> None:
        setting = study.ask()
        if setting is None:
            self._end_study(task, study)
            return

        def done(scored: TrialResult) -> None:
            study.tell(scored)
            self._go_on(task, study)

        self.running[self.pool.submit(run_trial, setting)] = done

    def _end_study(self, task: Task, study: TuningStudy) -> None:
        try:
            outcome = study.outcome()
        except ValueError as error:
            self._study_failed(task, error)
        else:
            self.plan.store.put(self.plan.studies[task].key, outcome)
            self._study_done(task, outcome)

    def _study_failed(self, task: Task, error: ValueError) -> None:
        self._study_done(task, {"status": "failed", "message": f"{type(error).__name__}: {error}"})

    def _study_done(self, study: Task, outcome: dict[str, Any]) -> None:
        self.choices[study] = outcome
        for task, needed in self.plan.after.items():
            if needed == study and task not in self.records:
                self._start_fit(task)

    def _start_fit(self, task: Task) -> None:
        choice = self.choices.get(self.plan.after[task], {}) if task in self.plan.after else {}
        if choice.get("status") == "failed":
            failed = {"status": "failed", "message": choice["message"], "settings": {}, "solver": None}
            self._finish(task, failed, stored=False)
            return
        work = replace(self.plan.fits[task], chosen=choice.get("chosen", {}))

        def done(fitted: FitResult) -> None:
            if fitted.record["status"] == "ok":  # what failed is tried again the next time
                if fitted.pipeline is not None:
                    self.plan.store.put_bytes(work.key, ".pickle", fitted.pipeline)
                if fitted.decisions is not None:
                    self.plan.store.put_array(work.key, fitted.decisions)
                # Last: what has a record is complete.
                self.plan.store.put(work.key, fitted.record)
            if fitted.decisions is not None:
                self.decisions[task] = fitted.decisions
            self._finish(task, fitted.record, stored=False)

        self.running[self.pool.submit(run_fit, work)] = done

    def _finish(self, task: Task, record: dict[str, Any], stored: bool) -> None:
        tuning_outcome = self.choices.get(self.plan.after[task], {}) if task in self.plan.after else {}
        self.records[task] = {**record, "tuning": tuning_outcome}
        self.news.append((task, stored))

    def _tell(self) -> None:
        news, self.news = self.news, []
        for task, stored in news:
            self.listener.fit_finished(*task, self.records[task], stored)


def _is_lost(future: Future[Any]) -> bool:
    return future.cancelled() or future.exception() is not None
