"""Signs of life: with a clock of the test's own, and a beat of milliseconds."""

from __future__ import annotations

import argparse
import logging
import threading
import time
from collections.abc import Callable

import pytest

from ldep_pipeline.commands import main
from ldep_pipeline.common import progress


class FakeClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO)
    return lambda: [record.getMessage() for record in caplog.records]


def test_a_heartbeat_goes_on_while_its_block_is_busy_and_ends_with_it():
    beats = threading.Semaphore(0)
    with progress.Heartbeat(beats.release, seconds=0.001) as heartbeat:
        for _ in range(3):
            assert beats.acquire(timeout=30)
    assert heartbeat.finished.is_set()
    heartbeat.thread.join(30)
    assert not heartbeat.thread.is_alive()


def test_less_than_a_minute_passes_between_two_lines(clock):
    assert progress.SILENCE + progress.BEAT < 60
    silence = progress.Silence(clock)
    clock.now += progress.SILENCE - 1
    assert not silence.is_too_long()
    clock.now += 1
    assert silence.is_too_long()
    silence.broken()
    assert not silence.is_too_long()


def test_a_long_step_is_reported_before_ten_seconds_have_passed(clock, lines):
    reported = threading.Event()

    class Watched(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            reported.set()

    handler = Watched()
    progress.log.addHandler(handler)
    try:
        with progress.of_one_step("fitting", clock, seconds=0.001):
            clock.now += 9
            assert reported.wait(30)
    finally:
        progress.log.removeHandler(handler)
    assert lines() == ["fitting: 9 s so far."]


def test_of_steps_inside_each_other_the_innermost_speaks_and_other_lines_postpone_it(clock, lines):
    with progress.of_one_step("ldep register", clock, seconds=0.001):
        clock.now += 5
        with progress.of_one_step("fitting", clock, seconds=0.001):
            progress.log.info("a line")
            clock.now += 6  # five seconds and six, but six since the last line
            time.sleep(0.05)
            assert lines() == ["a line"]
            clock.now += 2
            wait_for(lambda: len(lines()) == 2)
        clock.now += 8
        wait_for(lambda: len(lines()) == 3)
    assert lines() == ["a line", "fitting: 8 s so far.", "ldep register: 21 s so far."]


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.mark.parametrize("command", ["score", "evaluate", "verify", "diff", "register", "fetch", "report"])
def test_no_command_is_silent_for_long(tmp_path, monkeypatch, lines, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "SILENCE", 0.01)
    monkeypatch.setattr(progress.of_one_step.__wrapped__, "__defaults__", (time.monotonic, 0.001))
    action = argparse.Namespace(command=command, action=lambda args: wait_for(lambda: lines() != []))
    parser = argparse.ArgumentParser()
    monkeypatch.setattr(parser, "parse_args", lambda argv, args: vars(args).update(vars(action)))
    monkeypatch.setattr(main, "build_parser", lambda: parser)
    assert main.main([]) == 0
    assert lines()[0] == f"ldep {command}: 0 s so far."


def test_a_study_reports_improvements_and_is_then_not_silent(clock, lines):
    study = progress.StudyProgress("tiny, ldep", 10, clock)
    clock.now += 10
    study.trial_finished(3, 0.8)  # two of them are of an earlier run
    clock.now += 5
    study.trial_finished(4, 0.8)
    study.beat()
    assert lines() == ["tiny, ldep: trial 3 of 10, best 0.8000, 10 s so far, about 1 min 10 s left"]
    clock.now += 5
    study.beat()
    assert lines()[1:] == ["tiny, ldep: trial 4 of 10, best 0.8000, 20 s so far, about 1 min left"]


def test_a_study_without_a_complete_trial_has_no_best_value(clock, lines):
    study = progress.StudyProgress("tiny, ldep", 10, clock)
    clock.now += 50
    study.beat()
    study.trial_finished(1, float("nan"))
    assert lines() == ["tiny, ldep: trial 0 of 10, 50 s so far"]
