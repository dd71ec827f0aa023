"""A tracking server that refuses, hangs or trickles is reported soon, waited for, and given up in the end."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace

import mlflow
import pytest

from ldep_pipeline.common.digests import digest
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.registry import download
from ldep_pipeline.stages import train
from ldep_pipeline.tracking import connection, tracker
from tests.support import tiny, tracked, tracking_server

URI = "http://ann:secret@127.0.0.1:9"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    assert connection.NOTICE < 10
    monkeypatch.setattr(connection, "NOTICE", 0.2)
    monkeypatch.setattr(connection, "LIMIT", 1.0)
    monkeypatch.setattr(connection, "LIMIT_FOR_A_NEW_SERVER", 1.0)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "60")


@pytest.mark.parametrize("behaviour", tracking_server.BEHAVIOURS)
@pytest.mark.parametrize("known", [False, True])
def test_training_reports_the_server_before_any_fit(tmp_path, monkeypatch, caplog, behaviour, known):
    tiny.prepare(tmp_path)
    with tracking_server.behaving(behaviour) as url:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", url)
        if known:
            (tmp_path / ".ldep").mkdir()
            (tmp_path / ".ldep/answered").write_text(digest(url))
        with pytest.raises(UserError, match=rf"{url} cannot be used: .*tracking\.enabled"):
            train.run("tiny", tracked.params(), tmp_path)
    if behaviour in ("hang", "trickle", "429", "503"):
        expected = (
            f"still waiting for the tracking server {url}, for 1 s at most. Press Ctrl-C and set tracking.enabled"
        )
        assert expected in caplog.text
    assert not (tmp_path / ".ldep/fits").exists()


def test_a_server_that_becomes_slow_during_training_costs_no_fit(tmp_path, monkeypatch, caplog):
    """The fits are kept, and the next run only writes what is missing."""
    tiny.prepare(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    checked = tiny.checked(models=["svc"], tracking={"experiment": "suite"})
    connect, ended = connection.connect, threading.Event()

    def stuck(*_: object) -> None:
        ended.wait()

    def connect_to_a_server(*arguments):
        return replace(connect(*arguments), uri=URI)

    with monkeypatch.context() as patch:
        patch.setattr(connection, "LIMIT", 3.0)  # for all other calls, which work, on a busy machine too
        patch.setattr(connection, "connect", connect_to_a_server)
        patch.setattr(tracker.Tracker, "_write", stuck)
        with pytest.raises(UserError, match=r"writing the run of tiny, svc failed: .*The fits are kept"):
            train.run("tiny", checked, tmp_path)
    ended.set()
    assert "writing the run of tiny, svc: still waiting" in caplog.text
    monkeypatch.undo()
    fits = {path: path.stat().st_mtime_ns for path in (tmp_path / ".ldep/fits").rglob("*.json")}
    assert len(fits) == 3
    train.run("tiny", checked, tmp_path)
    assert {path: path.stat().st_mtime_ns for path in fits} == fits
    assert list(tracked.runs(mlflow.MlflowClient())) == ["svc"]


@pytest.mark.parametrize("behaviour", ["trickle", "429"])
def test_loading_a_model_from_a_slow_server_is_given_up(tmp_path, monkeypatch, caplog, behaviour):
    with tracking_server.behaving(behaviour) as url:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", url)
        with pytest.raises(UserError, match=rf"cannot be read from {url}: .* did not answer within 1 s"):
            download.load("models:/ldep-x@champion", tmp_path)
    assert "still waiting" in caplog.text


def test_quick_work_is_silent_and_its_result_returned(caplog, monkeypatch):
    monkeypatch.setattr(connection, "NOTICE", 60.0)  # starting a thread may take a while
    monkeypatch.setattr(connection, "LIMIT", 120.0)
    caplog.set_level(logging.INFO)
    assert connection.patiently("reading", URI, lambda: 7) == 7
    assert not caplog.text


def test_an_error_of_the_work_is_raised_as_it_is():
    def fail() -> None:
        raise TimeoutError("of the work itself")

    with pytest.raises(TimeoutError, match="of the work itself"):
        connection.patiently("reading", URI, fail)


def test_passwords_are_not_shown(caplog):
    waiting = threading.Event()
    with pytest.raises(connection.ServerTooSlow) as caught:
        connection.patiently("reading", URI, waiting.wait, limit=0.5)
    waiting.set()
    assert "secret" not in caplog.text + str(caught.value)
    assert "http://ann:***@127.0.0.1:9" in caplog.text


def test_a_local_store_is_waited_for_without_a_thread():
    thread = connection.patiently("reading", "sqlite:///mlflow.db", threading.current_thread)
    assert thread is threading.current_thread()
