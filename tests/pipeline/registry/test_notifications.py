"""Notifications: what a webhook and a command get, and that nothing they do fails or delays the work."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from ldep_pipeline.commands import measured
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config import params
from ldep_pipeline.config.params import Notify
from ldep_pipeline.registry import notifications
from ldep_pipeline.stages import register
from tests.support import registered

FACTS = {"model": "ldep-shop", "version": "2", "why": "größer"}


class Hook:
    """A server that answers with these statuses, one after the other, and keeps what it got."""

    def __init__(self, *statuses: int, seconds: float = 0) -> None:
        self.statuses, self.seconds = list(statuses), seconds
        self.bodies: list[dict] = []
        self.headers: list[dict] = []
        self.url = ""


@contextlib.contextmanager
def listening(hook: Hook) -> Iterator[Hook]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            hook.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            hook.headers.append(dict(self.headers))
            time.sleep(hook.seconds)
            status = hook.statuses.pop(0) if hook.statuses else 200
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hook.url = f"http://127.0.0.1:{server.server_port}/secret/path"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hook
    finally:
        server.shutdown()


@pytest.fixture(autouse=True)
def quickly(monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(notifications, "PAUSE", 0.01)


def test_an_address_gets_the_event_with_its_header_and_the_log_shows_no_secret(monkeypatch, caplog):
    monkeypatch.setenv("LDEP_TEST_TOKEN", "Bearer hidden")
    with listening(Hook()) as hook:
        settings = Notify(url=hook.url, headers={"Authorization": "$LDEP_TEST_TOKEN"})
        notifications.send(settings, "promotion", FACTS)
    (body,), (headers,) = hook.bodies, hook.headers
    assert body.items() >= {"event": "promotion", **FACTS}.items()
    assert set(body) == {"event", "when", "by", "ldep", *FACTS}
    assert headers["Authorization"] == "Bearer hidden"
    assert "http://127.0.0.1 was notified of the promotion" in caplog.text
    assert "hidden" not in caplog.text
    assert "/secret" not in caplog.text


def test_the_address_may_come_from_the_environment(monkeypatch, caplog):
    with listening(Hook()) as hook:
        monkeypatch.setenv("LDEP_TEST_URL", hook.url)
        notifications.send(Notify(url="$LDEP_TEST_URL"), "drift", {})
        assert len(hook.bodies) == 1
    monkeypatch.setenv("LDEP_TEST_URL", "http://example.org/hook")
    notifications.send(Notify(url="$LDEP_TEST_URL"), "drift", {})
    assert "an address to notify that is not on this machine must begin with https://" in caplog.text
    monkeypatch.delenv("LDEP_TEST_URL")
    notifications.send(Notify(url="$LDEP_TEST_URL"), "drift", {})
    assert "the environment variable LDEP_TEST_URL is not set" in caplog.text


@pytest.mark.parametrize(
    ("statuses", "attempts", "said"),
    [
        ((500, 429, 200), 3, "was notified"),
        ((500, 500, 503), 3, "could not be notified of the drift: it answers with status 503"),
        ((404,), 1, "could not be notified of the drift: it answers with status 404"),
        ((302,), 1, "could not be notified of the drift: it answers with status 302"),
    ],
)
def test_only_what_may_pass_is_tried_again(statuses, attempts, said, caplog):
    with listening(Hook(*statuses)) as hook:
        notifications.send(Notify(url=hook.url), "drift", {})
    assert len(hook.bodies) == attempts
    assert said in caplog.text


def test_a_server_that_is_not_there_or_hangs_is_reported_soon(monkeypatch, caplog):
    notifications.send(Notify(url="http://127.0.0.1:9/"), "drift", {})
    assert "could not be notified of the drift: ConnectionError" in caplog.text
    monkeypatch.setattr(notifications, "LONGEST", 0.3)
    began = time.monotonic()
    with listening(Hook(seconds=3)) as hook:
        notifications.send(Notify(url=hook.url), "drift", {})
        assert time.monotonic() - began < 2
    assert "it took longer than 0 s" in caplog.text


def test_a_command_gets_the_event_without_a_shell(tmp_path, caplog):
    program = "import sys; open('got.json', 'wb').write(sys.stdin.buffer.read()); print(sys.argv)"
    command = [sys.executable, "-c", program, "; touch shell"]
    notifications.send(Notify(command=command), "missed_promise", FACTS, tmp_path)
    assert json.loads((tmp_path / "got.json").read_text(encoding="utf-8"))["why"] == "größer"
    assert not (tmp_path / "shell").exists()
    assert "was notified of the missed_promise" in caplog.text


def test_a_command_that_fails_or_hangs_or_is_missing_is_reported(tmp_path, monkeypatch, caplog):
    failing = [sys.executable, "-c", "import sys; sys.exit('no such channel')"]
    notifications.send(Notify(command=failing), "drift", FACTS, tmp_path)
    assert "it ended with 1: no such channel" in caplog.text
    notifications.send(Notify(command=["no-such-command"]), "drift", FACTS, tmp_path)
    assert "no-such-command could not be notified of the drift: it cannot be run: No such file" in caplog.text
    monkeypatch.setattr(notifications, "LONGEST", 2.0)
    notifications.send(Notify(command=["sleep", "60"]), "drift", FACTS, tmp_path)
    assert "it was ended after 1 s" in caplog.text


def test_other_events_are_not_sent():
    with listening(Hook()) as hook:
        notifications.send(Notify(url=hook.url, events=["drift"]), "promotion", FACTS)
    assert hook.bodies == []


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        ({"url": "http://example.org/x"}, "'notify.url': an address to notify that is not on this machine"),
        ({"url": "https://ana:secret@example.org/x"}, "holds no password"),
        ({"url": "ftp://example.org"}, "must begin with https://"),
        ({"headers": {"Authorization": "Bearer abc"}}, "the value of Authorization must be \\$ and the name"),
        ({"events": ["promoted"]}, "notify.events.0"),
        ({"webhook": "https://example.org"}, "unknown key 'notify.webhook'"),
    ],
)
def test_settings_that_are_wrong_or_hold_a_secret_are_refused(section, sentence):
    with pytest.raises(UserError, match=sentence):
        params.check({"datasets": ["haberman"], "notify": section})


def test_a_promotion_is_told_once_and_the_settings_register_nothing_anew(trained_project):
    values = registered.with_candidates("ldep")
    with listening(Hook()) as hook:
        asked = values.model_copy(update={"notify": Notify(url=hook.url)})
        first = register.run(registered.NAME, asked)
        assert [body["version"] for body in hook.bodies] == ["1"]
        assert hook.bodies[0]["why"] == "there was no champion"
        assert register.run(registered.NAME, asked) == first
        assert len(hook.bodies) == 1
    assert register.run(registered.NAME, values)["key"] == first["key"]


def test_rollback_drift_and_a_missed_promise_are_told(trained_project, ldep, monkeypatch):
    monkeypatch.setattr(measured, "DRAWS", 200)
    name, uri = registered.NAME, f"models:/{registered.MODEL}@champion"
    for candidate in ("linear", "ldep"):
        register.run(name, registered.with_candidates(candidate))
    frame = registered.rows(100, seed=4)
    frame["width"] += 3
    frame["sold"] = np.where(frame["width"] > 0, "yes, sold", "no")  # the model says no to nearly all of them
    frame.to_csv("rows.csv", index=False)
    with listening(Hook()) as hook:
        Path("params.yaml").write_text(Path("params.yaml").read_text() + f"notify: {{url: '{hook.url}'}}\n")
        assert ldep("score", uri, "rows.csv", "--check")[0] == 3
        assert ldep("evaluate", uri, "rows.csv")[0] == 3
        assert ldep("rollback", name, "--why", "wrong prices")[0] == 0
    drift, missed, rolled_back = hook.bodies
    assert (drift["event"], drift["columns"][0]["column"]) == ("drift", "width")
    assert (missed["event"], missed["verdict"]["metric"]) == ("missed_promise", "accuracy")
    assert (rolled_back["event"], rolled_back["version"], rolled_back["why"]) == ("rollback", "1", "wrong prices")
