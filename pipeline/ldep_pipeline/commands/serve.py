"""Servers on this machine: `ldep serve` answers requests with the champion of a data set, `ldep ui` shows the runs."""

from __future__ import annotations

import errno
import json
import logging
import os
import shlex
import socket
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from ldep_pipeline.commands import CommandLine, add_params, positive_integer
from ldep_pipeline.common.errors import UserError, first_line, listed, masked
from ldep_pipeline.compat import mlflow_ui, uvicorn_http
from ldep_pipeline.config import params
from ldep_pipeline.registry import download
from ldep_pipeline.registry.following import Source
from ldep_pipeline.server import tokens
from ldep_pipeline.server.request_log import RequestLog
from ldep_pipeline.server.settings import Limits, Settings
from ldep_pipeline.serving import counterfactual_answers
from ldep_pipeline.tracking import connection, experiment_page

log = logging.getLogger(__name__)
HOST = "127.0.0.1"
HIGHEST_PORT = 2**16 - 1
APPLICATION = "ldep_pipeline.server.app:from_environment"
END = 3  # seconds for connections to close when every request is answered
HEALTH_CHECK = 60  # seconds in which a worker must answer its supervisor, also on a busy machine
MEGABYTE = 2**20
# One worker, and no jobs, which only pages for language models use: two processes with half a gigabyte of memory
# together instead of fourteen with almost three. Nobody can replace a model's files through the UI: docs/serving.md.
UI_OPTIONS = ("--workers", "1", "--no-serve-artifacts")
UI_ENVIRONMENT = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}


def add_serve(parser: ArgumentParser) -> None:
    limits, settings = Limits(), Settings(Path())
    parser.add_argument(
        "name",
        metavar="MODEL",
        nargs="?",
        help="the data set whose model is served, models:/NAME@ALIAS, models:/NAME/VERSION, or the folder of a model "
        "(default: the data set of params.yaml, if it has only one)",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--alias", help="alias of the version to serve (default: champion)")
    which.add_argument("--version", type=positive_integer, help="number of the version to serve")
    parser.add_argument(
        "--unverified",
        action="store_true",
        help="do not check the signature: whoever can write to the store then decides what is answered",
    )
    listening = parser.add_argument_group("who may use the server")
    listening.add_argument(
        "--host", default=HOST, help=f"address to listen on; 0.0.0.0 is all of this machine's (default: {HOST})"
    )
    listening.add_argument("--port", type=int, default=5001, help="port (default: 5001)")
    listening.add_argument(
        "--tokens",
        type=Path,
        metavar="FILE",
        help=f"tokens of the clients, as `ldep token` writes them; also those of the variable {tokens.VARIABLE}",
    )
    listening.add_argument(
        "--no-tokens", action="store_true", help="let everybody use a server that other machines can reach"
    )
    running = parser.add_argument_group("how it runs")
    running.add_argument("--workers", type=positive_integer, default=2, help="processes that answer (default: 2)")
    running.add_argument("--follow", action="store_true", help="go over to each version that the alias names later")
    running.add_argument(
        "--follow-seconds",
        type=positive_integer,
        default=10,
        metavar="N",
        help="with --follow: seconds between two looks at the alias (default: 10)",
    )
    running.add_argument(
        "--grace",
        type=positive_integer,
        default=int(settings.grace),
        metavar="N",
        help=f"seconds for requests that are being answered when the server is stopped (default: {settings.grace:.0f})",
    )
    accepted = parser.add_argument_group("what it accepts")
    accepted.add_argument(
        "--strict", action="store_true", help="refuse requests with values that the model would take as missing"
    )
    accepted.add_argument(
        "--max-body",
        type=positive_integer,
        default=limits.body // MEGABYTE,
        metavar="MB",
        help=f"largest body (default: {limits.body // MEGABYTE})",
    )
    accepted.add_argument(
        "--max-rows", type=positive_integer, metavar="N", help="most rows of a request (default: what fits in the body)"
    )
    accepted.add_argument(
        "--max-seconds",
        type=_seconds_of_search,
        default=limits.seconds,
        metavar="N",
        help=f"most seconds that a request for counterfactuals may ask for (default: {limits.seconds:.0f})",
    )
    accepted.add_argument(
        "--max-concurrent",
        type=positive_integer,
        default=limits.concurrent,
        metavar="N",
        help=f"most requests that a worker has at a time (default: {limits.concurrent})",
    )
    logged = parser.add_argument_group("what it logs")
    logged.add_argument(
        "--log-requests",
        type=Path,
        metavar="FILE",
        help="append the raw rows of answered requests to this file, one JSON object per line (default: no log)",
    )
    logged.add_argument("--log-id", metavar="COLUMN", help="log the cell of this column, which identifies a row")
    logged.add_argument("--log-answers", action="store_true", help="log what was answered")
    logged.add_argument(
        "--log-megabytes",
        type=positive_integer,
        default=100,
        help="size at which the log is renamed to FILE.1, replacing the previous one, and begun again (default: 100)",
    )


def serve(args: Namespace) -> None:
    """Check the model, print the command, and serve until stopped. A worker that dies is started again."""
    uri = address(args.name, args.alias, args.version)
    if args.follow and "@" not in uri:
        raise UserError(f"--follow needs an alias, and {uri} names one version.")
    known = _tokens(args.tokens)
    with bound(args.port, args.host) as listening, ExitStack() as stack:
        where = listening.getsockname()
        if not (known or args.no_tokens or ip_address(where[0]).is_loopback):
            raise UserError(
                f"other machines can reach {args.host}, and anybody there could use the model: name a file of tokens "
                "with --tokens (`ldep token` makes one), or add --no-tokens if something else protects the server."
            )
        request_log = _request_log(args)
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="ldep-serve-")))
        settings = Settings(
            folder,
            strict=args.strict,
            follow=args.follow,
            request_log=request_log,
            secured=bool(known),
            tokens=args.tokens and args.tokens.absolute(),
            limits=Limits(args.max_body * MEGABYTE, args.max_rows, args.max_seconds, args.max_concurrent),
            grace=args.grace,
        )
        stack.enter_context(settings.handed_over())
        source = Source(uri, folder, Path(), verify=not args.unverified)
        stack.callback(source.close)
        _, example = source.publish()
        if args.unverified:
            log.warning("the signature of %s was not checked: its answers are whatever its files make them.", uri)
        url = f"http://{_reached_at(where)}/invocations"
        print(f"Serving {uri}, version {source.version}, on {url}. To try it:\n\n{curl(example, url, bool(known))}\n")
        sys.stdout.flush()
        del example
        if args.follow:
            source.follow(args.follow_seconds)
        uvicorn_http.run(
            APPLICATION,
            listening,
            args.workers,
            timeout_graceful_shutdown=END,
            timeout_worker_healthcheck=HEALTH_CHECK,
            access_log=False,
            server_header=False,
        )


def address(name: str | None, alias: str | None, version: int | None) -> str:
    """What is served: a data set is that of params.yaml, or the name in `ldep-NAME`."""
    name = name or _only_dataset()
    if name.startswith("models:") or Path(name, "MLmodel").is_file():
        if alias is not None or version is not None:
            raise UserError(f"{name} names a version already; leave --alias and --version out.")
        return name
    model = f"models:/{download.name_of(name)}"
    return f"{model}/{version}" if version is not None else f"{model}@{alias or 'champion'}"


def _only_dataset() -> str:
    datasets = params.load().datasets
    if len(datasets) != 1:
        raise UserError(f"name the data set to serve: params.yaml has {listed(datasets)}.")
    return datasets[0]


def _tokens(path: Path | None) -> tuple[tokens.Token, ...]:
    """The tokens of the file and of the environment."""
    found = (*tokens.from_environment(), *(tokens.from_file(path) if path is not None else ()))
    if path is not None and not found:
        raise UserError(f"{path} has no token; `ldep token NAME {path}` makes one.")
    return found


def _request_log(args: Namespace) -> RequestLog | None:
    if args.log_requests is None:
        if args.log_id is not None or args.log_answers:
            raise UserError("--log-id and --log-answers are about the log of requests; add --log-requests FILE.")
        return None
    path, size = args.log_requests.absolute(), args.log_megabytes * MEGABYTE
    request_log = RequestLog(path, size, args.log_id, args.log_answers)
    request_log.check()
    return request_log


def bound(port: int, host: str = HOST) -> socket.socket:
    """A socket on this port; one that cannot be used is reported before the seconds that loading takes."""
    if not 0 <= port <= HIGHEST_PORT:
        raise UserError(
            f"port {port} cannot be used: it must be from 0 to {HIGHEST_PORT}; choose another one with --port."
        )
    try:
        return uvicorn_http.bound(host, port)
    except socket.gaierror as error:
        raise UserError(f"this machine has no address {host}: {str(error.strerror).lower()}; correct --host.") from None
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise UserError(f"this machine has no address {host}; correct --host.") from None
        reason = str(error.strerror).lower()
        raise UserError(f"port {port} cannot be used: {reason}; choose another one with --port.") from None


def _reached_at(where: tuple[Any, ...]) -> str:
    """Host and port for clients on this machine."""
    host = ip_address(where[0])
    if host.is_unspecified:
        host = ip_address("127.0.0.1" if host.version == 4 else "::1")
    return f"[{host}]:{where[1]}" if host.version == 6 else f"{host}:{where[1]}"


def curl(example: dict[str, Any], url: str, secured: bool = False) -> str:
    """Return a command that sends one row."""
    body = {"dataframe_records": [example], "params": {"output": "full"}}
    data = shlex.quote(json.dumps(body, ensure_ascii=False))
    token = ' -H "Authorization: Bearer $TOKEN"' if secured else ""
    return f"curl {url} -H 'Content-Type: application/json'{token} -d {data}"


def _seconds_of_search(text: str) -> float:
    value = float(positive_integer(text))
    if value > counterfactual_answers.MOST_SECONDS:
        raise ArgumentTypeError(f"{text} is more than {counterfactual_answers.MOST_SECONDS:.0f}")
    return value


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
