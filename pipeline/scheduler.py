"""Runs a plan: what the store holds is taken from it, the rest goes to a pool, each fit after the study it needs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Any

from pipeline import fitting, pool, tuning
from pipeline.errors import UserError
from pipeline.plan import Plan
from pipeline.store import Store

Task = tuple[str, int]
POLL = 0.5  # seconds between two looks at the workers' news


class Listener:
    """What a run tells while it goes on; the default hears nothing."""

    def trial(self, model: str, fold: int, best: float) -> None: ...

    def fitted(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None: ...


class Listeners(Listener):
    """Several, told in turn."""

    def __init__(self, *listeners: Listener) -> None:
        self.listeners = listeners

    def trial(self, model: str, fold: int, best: float) -> None:
        for listener in self.listeners:
            listener.trial(model, fold, best)

    def fitted(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        for listener in self.listeners:
            listener.fitted(model, fold, record, stored)


class Scheduler:
    """One run of a plan. `records` fills with one record a model and fold; its `tuning` is the study's outcome."""

    def __init__(self, plan: Plan, store: Store, listener: Listener) -> None:
        self.plan, self.store, self.listener = plan, store, listener
        self.records: dict[Task, dict[str, Any]] = {}
        self.choices: dict[Task, dict[str, Any]] = {}
        self.running: dict[Future[Any], Callable[[Future[Any]], None]] = {}

    def run(self, n_jobs: int) -> None:
        self._take_from_store()
        missing = [task for task in self.plan.fits if task not in self.records]
        if not missing:
            return
        with pool.open_pool(n_jobs) as (executor, news):
            self.executor: Executor = executor
            waiting_for = {self.plan.after[task] for task in missing if task in self.plan.after}
            # Studies take longest: first. A fit whose study is in the store starts with the others.
            for study in sorted(waiting_for - set(self.choices), key=lambda task: task[1]):
                self._start_study(study)
            for task in missing:
                if task not in self.plan.after or self.plan.after[task] in self.choices:
                    self._start_fit(task)
            while self.running:
                self._hear(news)
                done, _ = wait(self.running, timeout=POLL, return_when=FIRST_COMPLETED)
                for future in done:
                    self.running.pop(future)(future)
            self._hear(news)

    def _take_from_store(self) -> None:
        for study, tune in self.plan.studies.items():
            choice = self.store.get(tune.key)
            if choice is not None:
                self.choices[study] = choice
        for task, fit in self.plan.fits.items():
            record = self.store.get(fit.key)
            if record is not None:
                self._finish(task, record, stored=True)

    def _start_study(self, study: Task) -> None:
        future = self.executor.submit(_tune, self.plan.studies[study])
        self.running[future] = lambda done: self._study_done(study, _result(done))

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
        future = self.executor.submit(fitting.run, replace(self.plan.fits[task], chosen=choice.get("chosen", {})))
        self.running[future] = lambda done: self._finish(task, _result(done), stored=False)

    def _finish(self, task: Task, record: dict[str, Any], stored: bool) -> None:
        tuning_outcome = self.choices.get(self.plan.after[task], {}) if task in self.plan.after else {}
        self.records[task] = {**record, "tuning": tuning_outcome}
        self.listener.fitted(*task, self.records[task], stored)

    def _hear(self, news: Any) -> None:
        while news is not None and not news.empty():
            self.listener.trial(*news.get())


def _tune(work: tuning.Tune) -> dict[str, Any]:
    """In a worker: a study that cannot be done is a result, not a crash."""
    try:
        return tuning.run(work, lambda best: pool.tell((work.model, work.fold, best)))
    except OSError:  # a full disk is nobody's model
        raise
    except Exception as error:
        return {"status": "failed", "message": f"{type(error).__name__}: {error}"}


def _result(future: Future[Any]) -> dict[str, Any]:
    try:
        return future.result()
    except BrokenProcessPool:
        raise UserError(
            "a worker process was killed, most likely for want of memory. What was finished is kept: run it again, "
            "with a smaller execution.n_jobs."
        ) from None
    except OSError as error:
        raise UserError(f"a fit could not be written: {error}. What was finished is kept.") from None
