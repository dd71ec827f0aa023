"""Tracking servers that refuse, hang, trickle, answer nonsense or die: reported within 10 s, bounded, nothing lost.

`tests/pipeline/tracking/test_patience.py` has the same servers with short limits, for the default run. Here the real
commands meet them with the real limits, and a real MLflow server fails in the middle of a run.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import mlflow
import pandas as pd
import pytest
import requests
from sklearn.datasets import make_moons

from ldep_pipeline.commands.main import main
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.execution import results
from ldep_pipeline.stages import train
from ldep_pipeline.tracking import connection, runs
from tests.support import killing, tiny, tracking_server
from tests.support.servers import free_port
from tests.support.tracking_server import BEHAVIOURS, TrackingServer

pytestmark = pytest.mark.fault
SOON = 10.0  # seconds until a command must have reported the server
STARTING = 300.0  # seconds that a command and its imports may take on a busy machine
COMMANDS = {
    "train": ["train", "tiny"],
    "register": ["register", "tiny"],
    "score": ["score", "models:/ldep-tiny@champion", "tiny.csv", "scored.csv"],
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has trained without tracking, and has the parameters to track from now on."""
    folder = tmp_path_factory.mktemp("trained")
    X, y = make_moons(90, noise=0.25, random_state=0)
    pd.DataFrame(X, columns=tiny.COLUMNS).assign(label=y).to_csv(folder / "tiny.csv", index=False)
    own_data = {"tiny": {"path": str(folder / "tiny.csv"), "target": "label"}}
    tiny.write(folder, models=["svc"], own_data=own_data)
    with contextlib.chdir(folder):
        for stage in ("fetch", "impute", "split", "train"):
            assert main([stage]) == 0
    tiny.write(folder, models=["svc"], own_data=own_data, tracking={"experiment": "suite"})
    return folder


@pytest.fixture
def project(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "project"))


def snapshot(folder: Path) -> dict[str, bytes]:
    names = ("results", ".ldep/fits", "data")
    return {str(path): path.read_bytes() for name in names for path in (folder / name).rglob("*") if path.is_file()}


class Watched:
    """A command, and when the first line of its log that names the server came."""

    def __init__(self, folder: Path, command: list[str], url: str) -> None:
        self.url, self.text = url, ""
        self.reported: float | None = None  # on time.monotonic()
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [str(killing.BIN / "ldep"), *command],
            cwd=folder,
            env={**killing.environment(folder), "MLFLOW_TRACKING_URI": url},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.text += line
            if self.reported is None and (self.url in line or "tracking server" in line):
                self.reported = time.monotonic()

    def finish(self, seconds: float) -> int:
        try:
            return self.process.wait(seconds)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join(10)


def check_report(watched: Watched, server: TrackingServer | None, seconds: float) -> None:
    """The command has ended with one sentence about the server, within so many seconds, and reported it soon."""
    assert watched.finish(seconds) == 1, watched.text
    assert "Traceback" not in watched.text
    assert watched.url in watched.text.splitlines()[-1]
    assert watched.reported is not None
    began = watched.started + STARTING
    if server is not None:
        assert server.first_request is not None
        began = server.first_request
    assert watched.reported - began < SOON, watched.text


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_port_on_which_nothing_listens_is_reported(project, command):
    before = snapshot(project)
    watched = Watched(project, COMMANDS[command], f"http://127.0.0.1:{free_port()}")
    check_report(watched, None, STARTING + connection.LIMIT_FOR_A_NEW_SERVER)
    assert snapshot(project) == before


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_the_real_commands_report_a_server_that_misbehaves(trained, tmp_path, behaviour):
    """All three at once: most of the time they wait."""
    watched = {}
    for command in COMMANDS:
        shutil.copytree(trained, tmp_path / command)
    with tracking_servers(behaviour) as servers:
        for command, server in servers.items():
            watched[command] = Watched(tmp_path / command, COMMANDS[command], server.url)
        limit = STARTING + connection.LIMIT_FOR_A_NEW_SERVER + 30
        for command, server in servers.items():
            check_report(watched[command], server, limit)
    assert not (tmp_path / "score/scored.csv").exists()


@contextlib.contextmanager
def tracking_servers(behaviour: str) -> Iterator[dict[str, TrackingServer]]:
    servers = {command: TrackingServer(behaviour) for command in COMMANDS}
    with (
        tracking_server.started(servers["train"]),
        tracking_server.started(servers["register"]),
        tracking_server.started(servers["score"]),
    ):
        yield servers


@pytest.fixture(scope="module")
def mlflow_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real `mlflow server` on SQLite."""
    folder, port = tmp_path_factory.mktemp("server"), free_port()
    command = ["server", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--workers", "1", "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, "-m", "mlflow", *command],
        cwd=folder,
        env={**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        until = time.monotonic() + 300
        while not answers(url):
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.5)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answers(url: str) -> bool:
    try:
        return requests.get(f"{url}/health", timeout=5).ok
    except requests.RequestException:
        return False


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
@pytest.mark.parametrize("good_requests", [8, 14, 22])
def test_a_server_that_fails_during_training_loses_nothing(
    tmp_path, monkeypatch, mlflow_server, behaviour, good_requests
):
    """The fits stay, and when the server is back, the next run writes exactly what is missing."""
    experiment = f"{behaviour}-{good_requests}"
    checked = tiny.checked(models=["svc"], tracking={"experiment": experiment})
    tiny.prepare(tmp_path)
    with tracking_server.started(TrackingServer(behaviour, mlflow_server, good_requests)) as server:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", server.url)
        began = time.monotonic()
        with monkeypatch.context() as patch:
            patch.setattr(connection, "LIMIT", 6.0)
            patch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
            with pytest.raises(UserError) as caught:
                train.run("tiny", checked, tmp_path)
        assert time.monotonic() - began < 120
        assert "tracking.enabled" in str(caught.value)
        fits = {path: path.stat().st_mtime_ns for path in (tmp_path / ".ldep/fits").rglob("*.json")}
        server.heal()
        train.run("tiny", checked, tmp_path)
        assert {path: path.stat().st_mtime_ns for path in fits} == fits
        assert results.read("tiny", tmp_path / "results")["fold"].nunique() == 3
        check_one_finished_run(mlflow_server, experiment)


def check_one_finished_run(url: str, experiment: str) -> None:
    client = mlflow.MlflowClient(url)
    number = client.get_experiment_by_name(experiment).experiment_id
    found = client.search_runs([number])
    assert {run.info.status for run in found} == {runs.FINISHED}
    assert len([run for run in found if runs.KEY in run.data.tags]) == 1
    names = [run.info.run_name for run in found]
    assert len(names) == len(set(names))  # its folds and trials too


def test_a_socket_that_is_closed_at_once_is_reported(tmp_path, monkeypatch):
    """A load balancer without a server behind it accepts a connection, and ends it."""
    tiny.prepare(tmp_path)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ended = threading.Event()

        def close_every_connection() -> None:
            while not ended.is_set():
                listening.accept()[0].close()

        threading.Thread(target=close_every_connection, daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", url)
        with pytest.raises(UserError, match=f"the tracking store {url} cannot be used: "):
            train.run("tiny", tiny.checked(models=["svc"], tracking={"experiment": "suite"}), tmp_path)
        ended.set()
