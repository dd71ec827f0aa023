"""Telling other programs what happened to a model: a promotion, a rollback, drift, or a promise that was missed.

MLflow has webhooks of its own, which we do not use: only a tracking server sends them, not a project with a SQLite
file; they know aliases, but neither the reason nor drift nor promises; and they cannot run a command.

A notification never fails the work that it is about, and delays it for `LONGEST` seconds at most. If it does not
arrive, the log says so.
"""

from __future__ import annotations

import datetime
import json
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

import ldep_pipeline
from ldep_pipeline.common.errors import UserError, first_line
from ldep_pipeline.config import params, paths
from ldep_pipeline.config.params import EventName, Notify
from ldep_pipeline.registry.keys import person

log = logging.getLogger(__name__)
ATTEMPTS = 3
PAUSE = 1.0  # seconds before the second attempt, and twice as many before the third
TIMEOUT = 5.0  # seconds for the answer to an attempt
LONGEST = 20.0  # seconds for all attempts together, and for the command


class NotTold(Exception):
    """A notification that did not arrive, and the reason."""


def of_project(event: EventName, facts: dict[str, Any], root: Path = Path()) -> None:
    """Send a notification if the project in this folder asks for it. A folder without params.yaml asks for none."""
    path = root / paths.PARAMS
    if not path.is_file():
        return
    try:
        settings = params.load(path).notify
    except UserError as error:
        log.warning("nobody is notified of the %s: %s", event, error)
        return
    send(settings, event, facts, root)


def send(settings: Notify, event: EventName, facts: dict[str, Any], root: Path = Path()) -> None:
    """Send a notification of this moment to the address and to the command of the settings, if they want the event."""
    if event not in settings.events:
        return
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    payload = {"event": event, "when": now, "by": person(), "ldep": ldep_pipeline.__version__, **facts}
    body = json.dumps(payload, ensure_ascii=False, default=str).encode()
    if settings.url is not None:
        _try(event, _shown(settings.url), lambda: _post(settings, body))
    if settings.command:
        _try(event, settings.command[0], lambda: _run(settings.command, body, root))


def _try(event: str, whom: str, work: Callable[[], None]) -> None:
    """Do the work in a thread, which is left behind if it takes too long: a server may answer byte by byte."""
    problem: list[str] = [f"it took longer than {LONGEST:.0f} s"]

    def run() -> None:
        try:
            work()
            problem[:] = []
        except NotTold as error:
            problem[:] = [str(error)]
        except Exception as error:  # whatever it is, the work must not fail; its text may show a secret address
            problem[:] = [type(error).__name__]

    thread = threading.Thread(target=run, name="notification", daemon=True)
    thread.start()
    thread.join(LONGEST)
    if problem:
        log.warning("%s could not be notified of the %s: %s.", whom, event, problem[0])
    else:
        log.info("%s was notified of the %s.", whom, event)


def _post(settings: Notify, body: bytes) -> None:
    assert settings.url is not None
    headers = {name: _secret(value) for name, value in settings.headers.items()}
    address = _secret(settings.url) if settings.url.startswith("$") else settings.url
    try:
        params.check_address(address)
    except ValueError as error:
        raise NotTold(str(error)) from None
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(attempt * PAUSE)
        try:
            answer = requests.post(
                address,
                data=body,
                headers={"Content-Type": "application/json", **headers},
                timeout=TIMEOUT,
                allow_redirects=False,  # it might lead to an address that nobody chose
            )
        except (requests.ConnectionError, requests.Timeout) as error:
            problem = type(error).__name__  # its text would show the address, which may be a secret
            continue
        if answer.ok and not answer.is_redirect:
            return
        problem = f"it answers with status {answer.status_code}"
        if answer.status_code != 429 and answer.status_code < 500:
            break
    raise NotTold(problem)


def _run(command: list[str], body: bytes, root: Path) -> None:
    """Run a command, without a shell, with the notification as its standard input."""
    try:
        process = subprocess.Popen(
            command,
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise NotTold(f"it cannot be run: {error.strerror}") from None
    try:
        errors = process.communicate(body, timeout=LONGEST - 1)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise NotTold(f"it was ended after {LONGEST - 1:.0f} s") from None
    if process.returncode:
        lines = errors.decode(errors="replace").strip().splitlines()
        told = f": {first_line(ValueError(lines[-1]))}" if lines else ""
        raise NotTold(f"it ended with {process.returncode}{told}")


def _secret(reference: str) -> str:
    """The value of the environment variable that `$NAME` names."""
    name = reference.removeprefix("$")
    if not os.environ.get(name):
        raise NotTold(f"the environment variable {name} is not set")
    return os.environ[name]


def _shown(url: str) -> str:
    """The address without its path, which may be a secret."""
    return url if url.startswith("$") else f"{urlsplit(url).scheme}://{urlsplit(url).hostname}"
