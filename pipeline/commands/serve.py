"""`ldep serve`: an HTTP server for the champion of a data set, and a curl command to try it."""

from __future__ import annotations

import json
import os
import shlex
import socket
from pathlib import Path

import uvicorn

from pipeline.common.errors import UserError
from pipeline.encoding.encoder import RawEncoder
from pipeline.registry import download, versions
from pipeline.serving import app, mlflow_folder, served_model

HOST = "127.0.0.1"
GRACE = 3  # seconds for requests that are being answered when the server is stopped
HEALTH_CHECK = 60  # seconds in which a worker must answer its supervisor, also on a busy machine


def run(
    name: str,
    alias: str = versions.CHAMPION,
    *,
    port: int = 5001,
    workers: int = 2,
    strict: bool = False,
    root: Path = Path(),
) -> None:
    """Check the model, print the command, and serve until interrupted. A worker that dies is started again.

    `name` is a data set, or the folder of a model that `ldep stream` wrote. With `strict`, requests with values that
    the model does not know are refused, unless they say otherwise.
    """
    _check_port(port)
    uri = name if Path(name, "MLmodel").is_file() else f"models:/{versions.name_of(name)}@{alias}"
    with download.checked_copy(uri, root) as folder:
        model = download.load(str(folder))
        address = f"http://{HOST}:{port}/invocations"
        print(f"Serving {uri} on {address}. To try it:\n\n{curl(model.encoder, address)}\n", flush=True)
        os.environ[app.FOLDER] = str(folder / mlflow_folder.DATA)
        os.environ[app.STRICT] = "true" if strict else ""
        uvicorn.run(
            f"{app.__name__}:{app.from_environment.__name__}",
            factory=True,
            host=HOST,
            port=port,
            workers=workers,
            timeout_graceful_shutdown=GRACE,
            timeout_worker_healthcheck=HEALTH_CHECK,
            access_log=False,
        )


def _check_port(port: int) -> None:
    """Report a port that cannot be used before the seconds that loading takes."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            reason = "it must be from 0 to 65535" if isinstance(error, OverflowError) else str(error.strerror).lower()
            raise UserError(f"port {port} cannot be used: {reason}; choose another one with --port.") from None


def curl(encoder: RawEncoder, address: str) -> str:
    """A request with one row of typical values."""
    body = {"dataframe_records": [served_model.example(encoder)], "params": {"output": "full"}}
    data = shlex.quote(json.dumps(body, ensure_ascii=False))
    return f"curl {address} -H 'Content-Type: application/json' -d {data}"
