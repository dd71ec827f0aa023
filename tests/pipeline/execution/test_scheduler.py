"""A run of a plan: results are stored, whatever the listeners do."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.data import folds
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.execution import plan, pools
from ldep_pipeline.execution.plan import TrainingPlan
from ldep_pipeline.execution.pools import Call, Pool
from ldep_pipeline.execution.scheduler import BackgroundListener, Listener, Scheduler
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.stages import train
from ldep_pipeline.tracking import tracker
from tests.support import tiny


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrainingPlan:
    tiny.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return plan.make("tiny", tiny.checked(), folds.read("tiny"))


class Waiting(Listener):
    """Handles its first event until all fits are in the store."""

    def __init__(self, made: TrainingPlan) -> None:
        self.made, self.heard = made, []

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        deadline = time.monotonic() + 300
        while not all(self.made.store.get(fit.key) for fit in self.made.fits.values()):
            assert time.monotonic() < deadline, "nothing is stored while a listener is busy"
            time.sleep(0.01)
        self.heard.append((model, fold))


def test_a_slow_listener_delays_nothing(made):
    listener = Waiting(made)
    with BackgroundListener(listener) as background:
        rows = load_training_data("tiny")
        Scheduler(made, rows).run(background, pools.Inline(rows))
    assert sorted(listener.heard) == sorted(made.fits)


class Failing(Listener):
    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        raise UserError("the server is gone")


def test_an_error_of_a_listener_is_raised_by_the_next_call_and_at_the_end():
    def run() -> None:
        with BackgroundListener(Failing()) as background:
            background.fit_finished("svc", 0, {}, False)
            background.thread.join()
            with pytest.raises(UserError, match="the server is gone"):
                background.fit_finished("svc", 1, {}, False)

    with pytest.raises(UserError, match="the server is gone"):
        run()


def test_after_an_error_the_remaining_events_are_dropped():
    heard = []

    class Slow(Listener):
        def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
            heard.append(fold)
            deadline = time.monotonic() + 300
            while not background.cancelled and time.monotonic() < deadline:
                time.sleep(0.01)

    background = BackgroundListener(Slow())

    def interrupted() -> None:
        with background:
            for fold in range(3):
                background.fit_finished("svc", fold, {}, False)
            while not heard:
                time.sleep(0.01)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not background.thread.is_alive()
    assert heard == [0]


class Breaking(Pool):
    """Returns a step of a study, a fit and a lost result together; from then on it is broken."""

    def __init__(self, rows: TrainingData) -> None:
        self.rows, self.works = rows, []

    def submit(self, call: Call, work: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.works.append((future, call, work))
        return future

    def wait(self, futures: Collection[Future[Any]]) -> Collection[Future[Any]]:
        waiting, self.works = self.works, []
        for number, (future, call, work) in enumerate(waiting):
            if number == 1:
                future.set_exception(UserError("a worker was killed"))
            else:
                future.set_result(call(work, self.rows))
        return [future for future, _, _ in waiting]


def test_results_that_came_back_are_stored_before_a_lost_worker_ends_the_run(made):
    rows = load_training_data("tiny")
    with pytest.raises(UserError, match="a worker was killed"):
        Scheduler(made, rows).run(Listener(), Breaking(rows))
    done = [task for task, fit in made.fits.items() if made.store.get(fit.key)]
    assert done == [(model, fold) for model in ("svc", "ldep_cv") for fold in range(3)]


def test_a_broken_pool_is_reported_when_a_result_is_waited_for(made):
    with pools.open_pool(tiny.checked(execution={"n_jobs": 2}).execution, load_training_data("tiny")) as broken:
        for _ in range(2):  # the second is refused at once
            lost = broken.submit(end, None)
            with pytest.raises(UserError, match="a worker process was killed"):
                broken.result(lost)


def end(work: None, rows: TrainingData) -> None:
    os._exit(1)


class Late(str):
    """A text that a worker has only once a file exists."""

    def __reduce__(self) -> tuple[Any, ...]:
        return text_after, (str(self),)


def text_after(path: str) -> str:
    while not Path(path).exists():
        time.sleep(0.01)
    return path


def length_of_target(work: None, rows: TrainingData) -> int:
    return len(rows.target)


@pytest.mark.timeout(120)  # the driver used to wait for ever
def test_the_driver_does_not_wait_until_a_worker_has_taken_its_rows(made, tmp_path):
    gate = tmp_path / "gate"
    rows = replace(load_training_data("tiny"), columns=[Late(gate)], target="x" * 1_000_000)
    with pools.open_pool(tiny.checked(execution={"n_jobs": 2}).execution, rows) as pool:
        lengths = [pool.submit(length_of_target, None) for _ in range(2)]
        gate.touch()
        assert [pool.result(length) for length in lengths] == [1_000_000] * 2


@pytest.mark.parametrize(("jobs", "background"), [(1, False), (2, True)])
def test_tracking_runs_in_a_thread_if_other_processes_fit(made, monkeypatch, jobs, background):
    threads = set()
    written = tracker.Tracker._write

    def write(self: tracker.Tracker, model: str) -> None:
        threads.add(threading.current_thread())
        written(self, model)

    monkeypatch.delenv("LDEP_N_JOBS", raising=False)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(tracker.Tracker, "_write", write)
    train.run("tiny", tiny.checked(models=["svc"], tracking={"models": False}, execution={"n_jobs": jobs}))
    assert [thread is not threading.main_thread() for thread in threads] == [background]
