"""The tracking store: whatever MLFLOW_TRACKING_URI names, or a SQLite file in the project.

A server may refuse for a while (429 or 503 with Retry-After), hang, or send its answer byte by byte. MLflow's client
waits in silence, in some of these cases for ever, and has no setting for the time that a whole request may take. So
work with a server runs in a thread that can be left behind: see `patiently`.
"""

from __future__ import annotations

import logging
import os
import platform
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlparse

import mlflow
import requests
from mlflow.entities import Experiment
from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from ldep_pipeline.common.digests import digest
from ldep_pipeline.common.errors import UserError, first_line, masked
from ldep_pipeline.common.files import locked, replacing, write_text
from ldep_pipeline.compat import mlflow_ui
from ldep_pipeline.config import paths
from ldep_pipeline.tracking import experiment_page, relocation

log = logging.getLogger(__name__)
DATABASE = "mlflow.db"
REPORTS = "-reports"  # after the name of the experiment: that of the reports
# MLflow retries for minutes: right for a server that restarts during a run, too long to find out that there is none.
AT_THE_START = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "15"}
NOTICE = 5.0  # seconds until the log says that the server is waited for
LIMIT = 600.0  # seconds for one piece of work: a server that is restarted is back by then
LIMIT_FOR_A_NEW_SERVER = 60.0  # seconds
WITHOUT = "set tracking.enabled to false in params.yaml to go on without it"
GO_ON_WITHOUT = f"Press Ctrl-C and {WITHOUT}; finished work is kept."
# What MLflow raises: for its own reasons, for those of a database, and for those of a network or a file system.
STORE_ERRORS = (MlflowException, SQLAlchemyError, OSError)
Result = TypeVar("Result")


class ServerTooSlow(OSError):
    """The server did not finish its answers in time."""


@dataclass(frozen=True)
class Connection:
    """A client of the project's store, the experiment, the store's address, and who owns our runs there."""

    client: mlflow.MlflowClient
    experiment: str
    """Its id."""
    name: str
    uri: str
    owner: str

    def do(self, what: str, work: Callable[[], Result], problem: str, advice: str) -> Result:
        """Return what `work` returns. If the store fails, UserError tells the problem, the reason and the advice."""
        try:
            return patiently(what, self.uri, work)
        except STORE_ERRORS as error:
            raise UserError(f"{problem}: {first_line(error)}. {advice}.") from None

    def reports(self) -> str:
        """The id of the experiment of the reports, made if it is new: between the models they would be in the way."""
        found = _experiment(self.client, self.name + REPORTS, _database(self.uri))
        if mlflow_ui.KIND not in found.tags:
            self.client.set_experiment_tag(found.experiment_id, mlflow_ui.KIND, mlflow_ui.KIND_OF_TRAINING)
        return str(found.experiment_id)


def store_uri(root: Path = Path()) -> str:
    """MLFLOW_TRACKING_URI, or a SQLite file in the project."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{root.resolve() / DATABASE}"


def owner(root: Path) -> str:
    """Identifies the runs of this project on this machine: unfinished runs of another project may still be written."""
    return digest(platform.node(), str(root.resolve()))[:12]


def use(root: Path = Path(), experiment: str | None = None) -> str:
    """Make the store of the project the one that MLflow uses in this process; return its address.

    A SQLite file that was moved or copied, so that the artifacts of the experiment are elsewhere, is a UserError.
    """
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    uri = store_uri(root)
    database = _database(uri)
    if database is not None:
        relocation.check(database, experiment)
    mlflow.set_tracking_uri(uri)
    return uri


def use_existing(root: Path = Path()) -> str:
    """The same for a command that only reads: a SQLite file that does not exist is not made."""
    uri = use(root)
    database = _database(uri)
    if database is not None and not database.is_file():
        raise UserError(f"{database} does not exist; run this in the project's folder, or set MLFLOW_TRACKING_URI.")
    return uri


def relocate(root: Path = Path()) -> tuple[Path, list[Path]]:
    """Make a moved or copied SQLite file name the artifacts beside it; return it, and the folders that it named."""
    database = _database(store_uri(root))
    if database is None:
        raise UserError("MLFLOW_TRACKING_URI names a server, which knows where its artifacts are; nothing was changed.")
    if not database.is_file():
        raise UserError(f"{database} does not exist; run this in the project's folder, or set MLFLOW_TRACKING_URI.")
    with locked(root / paths.LOCKS / "mlflow.lock", "the tracking database"):
        return database, relocation.relocate(database, owner)


def connect(experiment: str, root: Path = Path()) -> Connection:
    """Connect to the project's store, and make the experiment if it is new.

    A server that has never answered this project, and does not answer now, is an error after a short while. One that
    has answered before is waited for: a stage may begin while it is restarted.
    """
    uri = use(root, experiment)
    answered = root / paths.ANSWERED
    known = answered.is_file() and answered.read_bytes() == digest(uri).encode()

    def open_quickly() -> tuple[mlflow.MlflowClient, Experiment]:
        with few_retries():
            return _open(experiment, uri)

    def open_patiently() -> tuple[mlflow.MlflowClient, Experiment]:
        return _open(experiment, uri)

    try:
        with locked(root / paths.LOCKS / "mlflow.lock", "the tracking database"):
            limit = LIMIT if known else LIMIT_FOR_A_NEW_SERVER
            try:
                client, found = patiently("connecting", uri, open_quickly, limit)
            except MlflowException as error:
                if not known or not _is_outage(error):
                    raise
                log.warning("the tracking server %s does not answer now; it did before.", masked(uri))
                client, found = patiently("connecting", uri, open_patiently, limit)
            write_text(answered, digest(uri))
    except STORE_ERRORS as error:
        hint = (
            "start it, correct MLFLOW_TRACKING_URI (and MLFLOW_TRACKING_USERNAME, MLFLOW_TRACKING_PASSWORD, if it asks "
            f"for them), or {WITHOUT}"
        )
        raise UserError(f"the tracking store {masked(uri)} cannot be used: {first_line(error)}; {hint}.") from None
    if found.lifecycle_stage != "active":
        raise UserError(
            f"the MLflow experiment '{experiment}' is deleted; restore it with "
            f"`mlflow experiments restore -x {found.experiment_id}`, or change tracking.experiment."
        )
    return Connection(client, found.experiment_id, experiment, uri, owner(root))


def _open(experiment: str, uri: str) -> tuple[mlflow.MlflowClient, Experiment]:
    database = _database(uri)
    if database is not None:
        _make_database(database)
    client = mlflow.MlflowClient()
    found = _experiment(client, experiment, database)
    if found.lifecycle_stage == "active":
        # A write, so that a wrong password or a lack of rights is reported now, not after hours.
        client.set_experiment_tag(found.experiment_id, "ldep.version", metadata.version("ldep"))
        experiment_page.describe(client, found.experiment_id, found.tags)
    return client, found


def _database(uri: str) -> Path | None:
    """The file of a SQLite store; None for any other store."""
    parts = urlparse(uri)
    return Path(parts.path[1:]) if parts.scheme == "sqlite" else None


def _is_outage(error: MlflowException) -> bool:
    """Whether there was no answer at all; a refusal is an answer."""
    return isinstance(error.__cause__ or error.__context__, requests.RequestException)


@contextmanager
def few_retries() -> Iterator[None]:
    """Let MLflow find out within seconds that there is no server."""
    added = {name: value for name, value in AT_THE_START.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _experiment(client: mlflow.MlflowClient, name: str, database: Path | None) -> Experiment:
    """The experiment of this name, made if it is new; several pipelines may start at once."""
    found = client.get_experiment_by_name(name)
    if found is not None:
        return found
    # Beside the database, wherever the command was called. A server has a place of its own.
    place = (database.resolve().parent / relocation.ARTIFACTS).as_uri() if database is not None else None
    try:
        client.create_experiment(name, artifact_location=place)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    found = client.get_experiment_by_name(name)
    assert found is not None
    return found


def _make_database(path: Path) -> None:
    """Make the tables of a SQLite file that does not exist, elsewhere first.

    MLflow takes seconds and many commits for it. Two processes at once crash; one that is killed leaves a file that
    MLflow cannot open again.
    """
    if not path.exists():
        with replacing(path.resolve()) as part:
            mlflow.MlflowClient(tracking_uri=f"sqlite:///{part}")


def patiently(
    what: str, uri: str, work: Callable[[], Result], limit: float | None = None, advice: str = GO_ON_WITHOUT
) -> Result:
    """Return what `work` returns. For a server: log a warning after NOTICE seconds, ServerTooSlow after `limit`."""
    if not uri.startswith(("http://", "https://")):
        return work()
    limit = LIMIT if limit is None else limit
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, name="tracking server", daemon=True).start()
    try:
        return outcome.result(timeout=min(NOTICE, limit))
    except TimeoutError:
        if outcome.done():  # a TimeoutError of the work itself
            raise
    log.warning(
        "%s: still waiting for the tracking server %s, for %.0f s at most. %s",
        what,
        masked(uri),
        limit,
        advice,
    )
    try:
        return outcome.result(timeout=max(0.0, limit - NOTICE))
    except TimeoutError:
        if outcome.done():
            raise
        raise ServerTooSlow(f"the tracking server {masked(uri)} did not answer within {limit:.0f} s") from None
