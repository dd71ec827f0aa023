"""A run of a plan: what comes back is stored, whatever those do who listen."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pipeline import fitting, plan
from pipeline.errors import UserError
from pipeline.plan import Plan
from pipeline.scheduler import Aside, Listener, Scheduler
from tests.pipeline import tiny


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    tiny.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return plan.make("tiny", tiny.checked(), 3)


class Waiting(Listener):
    """Is at the first news until all fits are in the store."""

    def __init__(self, made: Plan) -> None:
        self.made, self.heard = made, []

    def fitted(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        deadline = time.monotonic() + 60
        while not all(self.made.store.get(fit.key) for fit in self.made.fits.values()):
            assert time.monotonic() < deadline, "nothing is stored while somebody listens"
            time.sleep(0.01)
        self.heard.append((model, fold))


def test_who_is_slow_to_hear_holds_up_nothing(made):
    listener = Waiting(made)
    with Aside(listener) as aside:
        Scheduler(made, fitting.load("tiny"), aside).run(tiny.checked().execution)
    assert sorted(listener.heard) == sorted(made.fits)


class Failing(Listener):
    def fitted(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        raise UserError("the server is gone")


def test_what_a_listener_raises_ends_the_run(made):
    with pytest.raises(UserError, match="the server is gone"), Aside(Failing()) as aside:
        Scheduler(made, fitting.load("tiny"), aside).run(tiny.checked().execution)
    assert any(made.store.get(fit.key) for fit in made.fits.values())


def test_news_of_a_run_that_ended_with_an_error_is_dropped():
    began, heard = threading.Event(), []

    class Slow(Listener):
        def fitted(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
            began.set()
            time.sleep(0.2)
            heard.append(fold)

    def interrupted() -> None:
        with Aside(Slow()) as aside:
            for fold in range(3):
                aside.fitted("svc", fold, {}, False)
            began.wait()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert heard == [0]
