"""What is written while models are trained: an estimate first, then a line at least every minute."""

from __future__ import annotations

import logging
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sklearn.naive_bayes import GaussianNB

from ldep_pipeline.common import progress
from ldep_pipeline.data import folds
from ldep_pipeline.execution import plan, training_progress
from ldep_pipeline.execution.training_progress import LogProgress, RemainingWork
from ldep_pipeline.stages import train
from tests.pipeline.common.test_progress import FakeClock
from tests.support import tiny


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tiny.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def shown(root, clock, caplog) -> LogProgress:
    caplog.set_level(logging.INFO)
    made = plan.make("tiny", tiny.checked(), folds.read("tiny"))
    return LogProgress(made, RemainingWork(made, 2, workers=2), clock)


def record(seconds: float, accuracy: float, tuning: dict[str, float] | None = None) -> dict:
    return {"status": "ok", "metrics": {"accuracy": accuracy}, "fit_seconds": seconds, "tuning": tuning or {}}


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [entry.getMessage() for entry in caplog.records if entry.name == training_progress.__name__]


def test_the_whole_is_estimated_before_it_starts(shown, caplog):
    shown.fit_finished("svc", 0, record(1.0, 0.9), stored=True)
    shown.training_started()
    (line,) = lines(caplog)
    assert line.startswith("tiny: 3 models, 3 folds: 9 fits and 9 trials of tuning, 1 of the fits stored; about ")
    assert line.endswith(" with 2 processes, estimated from the size of the data")


def test_a_long_fit_is_not_silent(shown, clock, caplog):
    shown.training_started()
    for _ in range(40):  # eighty seconds without an event, and a beat every two seconds
        clock.now += 2
        shown.beat()
    assert len(lines(caplog)) == 1 + 10
    assert lines(caplog)[6] == "tiny: 0 of 9 fits and 0 of 9 trials; 48 s so far; longer than estimated"


def test_a_line_has_the_best_score_and_the_time_left(shown, clock, caplog):
    shown.trial_finished("ldep", 0, 0.7)
    clock.now += 50
    shown.beat()
    assert "1 of 9 trials; best inner accuracy 70.0 (ldep); 50 s so far" in lines(caplog)[-1]
    shown.fit_finished("svc", 0, record(10.0, 0.8), stored=False)
    shown.fit_finished("ldep_cv", 0, record(30.0, 0.9), stored=False)
    shown.fit_finished("ldep", 0, record(4.0, 0.85, {"seconds": 18.0, "trials": 3}), stored=False)
    clock.now += 50
    shown.beat()
    assert "3 of 9 fits and 3 of 9 trials; best accuracy 90.0 (ldep_cv); 1 min 40 s so far" in lines(caplog)[-1]
    # Two folds of 10 + 30 + 4 s of fits and 3 * 6 s of trials, on two workers; 50 s ago.
    assert lines(caplog)[-1].endswith("about 12 s left")


def test_when_all_fits_are_done_no_time_is_left(shown, clock, caplog):
    for model in ("svc", "ldep", "ldep_cv"):
        for fold in range(3):
            shown.fit_finished(model, fold, record(10.0, 0.8), stored=False)
    clock.now += 100
    assert lines(caplog)[-1] == "tiny, ldep_cv: accuracy 80.0 ± 0.0, 0 s since the start"
    assert shown.state() == "tiny: 9 of 9 fits and 9 of 9 trials; best accuracy 80.0 (svc); 1 min 40 s so far"


def test_a_finished_model_breaks_the_silence(shown, clock, caplog):
    clock.now += 40
    for fold in range(3):
        shown.fit_finished("svc", fold, record(10.0, 0.8), stored=False)
    clock.now += 6
    shown.beat()
    assert len(lines(caplog)) == 1
    assert "tiny, svc: accuracy 80.0 ± 0.0, 40 s since the start, about" in lines(caplog)[0]


def test_measured_fits_correct_the_estimates_of_other_models(root):
    made = plan.make("tiny", tiny.checked(), folds.read("tiny"))
    estimate = RemainingWork(made, 2, workers=1)
    work = estimate.models
    others = [work[model].seconds_left(1.0) for model in ("ldep", "ldep_cv")]
    work["svc"].expected_fit = 100.0
    estimate.fit_finished("svc", 0, record(300.0, 0.9), stored=False)
    assert estimate.seconds_left() == pytest.approx(2 * 300 + 3 * sum(others), rel=0.05)


def test_a_quick_fit_says_little_about_slow_ones(root):
    made = plan.make("tiny", tiny.checked(), folds.read("tiny"))
    estimate = RemainingWork(made, 2, workers=1)
    work = estimate.models
    others = [work[model].seconds_left(1.0) for model in ("ldep", "ldep_cv")]
    estimate.fit_finished("svc", 0, record(0.2, 0.9), stored=False)  # 20 times as long as estimated
    assert estimate.seconds_left() == pytest.approx(2 * 0.2 + sum(others), rel=0.05)


def test_training_writes_lines_while_a_fit_runs_in_this_process(root, monkeypatch, caplog):
    """The fit ends when a line has been written. Without patience, each beat writes one."""
    caplog.set_level(logging.INFO)
    written = threading.Event()
    monkeypatch.setattr(progress, "SILENCE", 0.0)
    monkeypatch.setattr(training_progress, "Heartbeat", partial(progress.Heartbeat, seconds=0.01))
    state = LogProgress.state

    def watched(self: LogProgress) -> str:
        written.set()
        return state(self)

    def fit(self: GaussianNB, X: Any, y: Any) -> GaussianNB:
        assert written.wait(30), "no line was written during a fit"
        return plain_fit(self, X, y)

    plain_fit = GaussianNB.fit
    monkeypatch.setattr(LogProgress, "state", watched)
    monkeypatch.setattr(GaussianNB, "fit", fit)
    train.run("tiny", tiny.checked(models=["slow"], classifiers={"slow": {"class": "sklearn.naive_bayes.GaussianNB"}}))
    assert any("tiny: 0 of 3 fits" in line for line in lines(caplog))
