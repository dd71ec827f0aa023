"""`ldep serve`: an HTTP server for the champion of a data set, and a curl command to try it."""

from __future__ import annotations

import json
import shlex
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from pipeline.common.errors import UserError
from pipeline.registry import download, versions
from pipeline.serving import app, mlflow_folder
from pipeline.serving.request_log import RequestLog
from pipeline.serving.training_profile import TrainingProfile

HOST = "127.0.0.1"
GRACE = 3  # seconds for requests that are being answered when the server is stopped
HEALTH_CHECK = 60  # seconds in which a worker must answer its supervisor, also on a busy machine


@dataclass(frozen=True)
class Options:
    """How the server runs. With `strict`, requests with values that the model does not know are refused by default."""

    port: int = 5001
    workers: int = 2
    strict: bool = False
    request_log: RequestLog | None = None


def run(name: str, alias: str, options: Options, root: Path = Path()) -> None:
    """Check the model, print the command, and serve until interrupted. A worker that dies is started again.

    `name` is a data set, or the folder of a model that `ldep stream` wrote.
    """
    check_port(options.port)
    if options.request_log is not None:
        options.request_log.check()
    uri = name if Path(name, "MLmodel").is_file() else f"models:/{versions.name_of(name)}@{alias}"
    with download.checked_copy(uri, root) as folder:
        model = download.load(str(folder))
        data = folder / mlflow_folder.DATA
        address = f"http://{HOST}:{options.port}/invocations"
        example = app.example(model, _profile(uri, data))
        print(f"Serving {uri} on {address}. To try it:\n\n{curl(example, address)}\n", flush=True)
        app.configure(data, options.strict, options.request_log)
        uvicorn.run(
            f"{app.__name__}:{app.from_environment.__name__}",
            factory=True,
            host=HOST,
            port=options.port,
            workers=options.workers,
            timeout_graceful_shutdown=GRACE,
            timeout_worker_healthcheck=HEALTH_CHECK,
            access_log=False,
        )


def check_port(port: int) -> None:
    """Report a port that cannot be used before the seconds that loading takes."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            reason = "it must be from 0 to 65535" if isinstance(error, OverflowError) else str(error.strerror).lower()
            raise UserError(f"port {port} cannot be used: {reason}; choose another one with --port.") from None


def _profile(uri: str, data: Path) -> TrainingProfile | None:
    try:
        return TrainingProfile.load(data)
    except ValueError as error:
        raise UserError(f"{uri} is not loaded: {error}") from None


def curl(example: dict[str, Any], address: str) -> str:
    """Return a command that sends one row."""
    body = {"dataframe_records": [example], "params": {"output": "full"}}
    data = shlex.quote(json.dumps(body, ensure_ascii=False))
    return f"curl {address} -H 'Content-Type: application/json' -d {data}"
