"""Servers on this machine: `ldep serve` answers requests with the champion of a data set, `ldep ui` shows the runs."""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from ldep_pipeline.commands import CommandLine, add_params, positive_integer
from ldep_pipeline.common.errors import UserError, first_line, masked
from ldep_pipeline.compat import mlflow_ui, uvicorn_http
from ldep_pipeline.config import params
from ldep_pipeline.registry import download
from ldep_pipeline.server import app
from ldep_pipeline.server.request_log import RequestLog
from ldep_pipeline.serving import mlflow_folder
from ldep_pipeline.tracking import connection, experiment_page

HOST = "127.0.0.1"
GRACE = 3  # seconds for requests that are being answered when the server is stopped
HEALTH_CHECK = 60  # seconds in which a worker must answer its supervisor, also on a busy machine
# One worker, and no jobs, which only pages for language models use: two processes with half a gigabyte of memory
# together instead of fourteen with almost three. Nobody can replace a model's files through the UI: docs/serving.md.
UI_OPTIONS = ("--workers", "1", "--no-serve-artifacts")
UI_ENVIRONMENT = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}


@dataclass(frozen=True)
class ServerOptions:
    """How the server runs. With `strict`, requests with values that the model does not know are refused by default."""

    port: int = 5001
    workers: int = 2
    strict: bool = False
    request_log: RequestLog | None = None


def add_serve(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="DATASET", help="the data set whose model is served, or the folder of a model")
    parser.add_argument("--alias", default="champion", help="alias of the version to serve (default: champion)")
    parser.add_argument("--port", type=int, default=5001, help="port on localhost (default: 5001)")
    parser.add_argument("--workers", type=positive_integer, default=2, help="processes that answer (default: 2)")
    parser.add_argument(
        "--strict", action="store_true", help="refuse requests with values that the model would take as missing"
    )
    parser.add_argument(
        "--log-requests",
        type=Path,
        metavar="FILE",
        help="append the raw rows of answered requests to this file, one JSON object per line (default: no log)",
    )
    parser.add_argument(
        "--log-megabytes",
        type=positive_integer,
        default=100,
        help="size at which the log is renamed to FILE.1, replacing the previous one, and begun again (default: 100)",
    )


def serve(args: Namespace) -> None:
    request_log = args.log_requests and RequestLog(args.log_requests.absolute(), args.log_megabytes * 2**20)
    run(args.name, args.alias, ServerOptions(args.port, args.workers, args.strict, request_log))


def run(name: str, alias: str, options: ServerOptions, root: Path = Path()) -> None:
    """Check the model, print the command, and serve until interrupted. A worker that dies is started again.

    `name` is a data set, or the folder of a model.
    """
    with bound(options.port) as listening:
        if options.request_log is not None:
            options.request_log.check()
        uri = name if Path(name, "MLmodel").is_file() else f"models:/{download.name_of(name)}@{alias}"
        with download.checked_copy(uri, root) as folder:
            model = download.load(str(folder))
            data = folder / mlflow_folder.DATA
            address = f"http://{HOST}:{listening.getsockname()[1]}/invocations"
            example = app.example(model, download.training_profile(uri, folder))
            print(f"Serving {uri} on {address}. To try it:\n\n{curl(example, address)}\n", flush=True)
            app.configure(data, options.strict, options.request_log)
            uvicorn_http.run(
                f"{app.__name__}:{app.from_environment.__name__}",
                listening,
                options.workers,
                timeout_graceful_shutdown=GRACE,
                timeout_worker_healthcheck=HEALTH_CHECK,
                access_log=False,
            )


def bound(port: int) -> socket.socket:
    """A socket on this port; a port that cannot be used is reported before the seconds that loading takes."""
    try:
        return uvicorn_http.bound(HOST, port)
    except (OSError, OverflowError) as error:
        reason = "it must be from 0 to 65535" if isinstance(error, OverflowError) else str(error.strerror).lower()
        raise UserError(f"port {port} cannot be used: {reason}; choose another one with --port.") from None


def curl(example: dict[str, Any], address: str) -> str:
    """Return a command that sends one row."""
    body = {"dataframe_records": [example], "params": {"output": "full"}}
    data = shlex.quote(json.dumps(body, ensure_ascii=False))
    return f"curl {address} -H 'Content-Type: application/json' -d {data}"


def add_ui(parser: ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=5000, help="port on localhost (default: 5000)")
    add_params(parser)


def ui(args: Namespace) -> None:
    run_ui(params.load(args.params).tracking.experiment, args.port)


def run_ui(experiment: str, port: int, root: Path = Path()) -> None:
    """Print the address and become MLflow's server; a tracking server has a UI of its own."""
    uri = connection.use_existing(root)
    view = _view(experiment, uri)
    if urlsplit(uri).scheme in ("http", "https"):
        print(f"The tracking server has its own UI. Open {_without_user(uri).rstrip('/')}/{view}")
        return
    bound(port).close()
    print(
        f"Open http://{HOST}:{port}/{view}\nThe server takes half a minute to start. Stop it with Ctrl-C.", flush=True
    )
    # In the environment: a command line, which every user of the machine can read, must not show a password.
    environment = {**os.environ, **UI_ENVIRONMENT, "MLFLOW_BACKEND_STORE_URI": uri}
    command = [sys.executable, "-m", "mlflow", "ui", "--host", HOST, "--port", str(port), *UI_OPTIONS]
    os.execve(sys.executable, command, environment)


def _view(experiment: str, uri: str) -> str:
    """The address of the grouped runs, within the UI."""
    try:
        with connection.few_retries():
            found = MlflowClient().get_experiment_by_name(experiment)
    except (MlflowException, SQLAlchemyError) as error:
        raise UserError(
            f"the tracking store {masked(uri)} cannot be used: {first_line(error)}; start it, or correct "
            "MLFLOW_TRACKING_URI."
        ) from None
    if found is None:
        raise UserError(
            f"{masked(uri)} has no experiment '{experiment}' yet; run `ldep train` or `dvc repro` first, with "
            "tracking.enabled: true."
        )
    return mlflow_ui.link(found.experiment_id, experiment_page.BY_DATASET)


def _without_user(uri: str) -> str:
    parts = urlsplit(uri)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


COMMANDS = {
    "serve": CommandLine(add_serve, serve, "ldep serve banana"),
    "ui": CommandLine(add_ui, ui, "ldep ui"),
}
