"""The real `mlflow models serve`, in a process of its own."""

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

from pipeline.commands import serve


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def serving(folder: Path, uri: str) -> Iterator[tuple[str, int]]:
    """Serve a model of the registry in a folder's mlflow.db; the address of the server and its process id."""
    port = free_port()
    environment = {**serve.environment(folder), "MLFLOW_TRACKING_URI": f"sqlite:///{folder / 'mlflow.db'}"}
    with started(folder, port, environment, *serve.arguments(uri, port)) as server:
        yield server


@contextlib.contextmanager
def started(folder: Path, port: int, environment: dict[str, str], *arguments: str) -> Iterator[tuple[str, int]]:
    """A server of MLflow, when it answers; its address and its process id."""
    log = (folder / f"server-{port}.log").open("w")
    process = subprocess.Popen(
        [sys.executable, "-m", "mlflow", *arguments],
        cwd=folder,
        env={**environment, "MLFLOW_DISABLE_TELEMETRY": "true"},
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            with contextlib.suppress(requests.ConnectionError):
                if requests.get(f"{address}/health", timeout=5).ok:
                    break
            assert process.poll() is None, Path(log.name).read_text()
            time.sleep(0.5)
        else:
            raise TimeoutError(f"no answer from {address} in two minutes:\n{Path(log.name).read_text()}")
        yield address, process.pid
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)
        log.close()
