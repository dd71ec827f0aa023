"""Servers in processes of their own: `ldep serve`, and MLflow's."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import requests

import ldep_pipeline

STARTING = 300  # seconds until a server answers, also on a busy machine


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def serving(folder: Path, name: str, *options: str) -> Iterator[tuple[str, int]]:
    """`ldep serve` in a project; the address of the server and its process id."""
    port = free_port()
    command = [sys.executable, "-m", "ldep_pipeline.commands.main", "serve", name, "--port", str(port), *options]
    with started(folder, port, command, ends=(0, -signal.SIGKILL)) as server:
        yield server


@contextlib.contextmanager
def mlflow_serving(folder: Path, uri: str) -> Iterator[tuple[str, int]]:
    """`mlflow models serve` on a model of the registry in a project's mlflow.db."""
    port = free_port()
    options = ["-m", uri, "--env-manager", "local", "--host", "127.0.0.1", "--port", str(port)]
    with started(folder, port, [sys.executable, "-m", "mlflow", "models", "serve", *options]) as server:
        yield server


@contextlib.contextmanager
def started(
    folder: Path, port: int, command: list[str], ends: tuple[int, ...] | None = None
) -> Iterator[tuple[str, int]]:
    """A server, when it answers; its address and its process id. Its working folder is the project's.

    `ends` are the exit codes that it may have when it is stopped, if they matter.
    """
    scripts = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_TRACKING_URI": f"sqlite:///{folder / 'mlflow.db'}",
        "PATH": os.pathsep.join([scripts, os.environ.get("PATH", "")]),
        "PYTHONPATH": os.pathsep.join([str(Path(ldep_pipeline.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
    }
    log = (folder / f"server-{port}.log").open("w")
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + STARTING
        while not _is_healthy(address):
            assert process.poll() is None, Path(log.name).read_text()
            if time.monotonic() > until:
                raise TimeoutError(f"no answer from {address} in {STARTING} s:\n{Path(log.name).read_text()}")
            time.sleep(0.5)
        yield address, process.pid
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        code = process.wait(120)
        log.close()
        assert ends is None or code in ends, Path(log.name).read_text()


def _is_healthy(address: str) -> bool:
    with contextlib.suppress(requests.RequestException):
        return requests.get(f"{address}/health", timeout=5).ok
    return False
