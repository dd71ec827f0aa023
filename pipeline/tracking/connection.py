"""The tracking store: whatever MLFLOW_TRACKING_URI names, or a SQLite file in the project."""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from urllib.parse import urlparse

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

import mlflow
import requests
from mlflow.entities import Experiment
from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from pipeline.common import file_lock
from pipeline.common.digests import digest
from pipeline.common.errors import UserError, first_line, masked
from pipeline.common.files import replacing, write_text
from pipeline.config import paths
from pipeline.tracking import experiment_page, patience

log = logging.getLogger(__name__)
DATABASE, ARTIFACTS = "mlflow.db", "mlartifacts"
# MLflow retries for minutes: right for a server that restarts during a run, too long to find out that there is none.
AT_THE_START = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "15"}
LIMIT_FOR_A_NEW_SERVER = 60.0  # seconds


def store_uri(root: Path = Path()) -> str:
    """MLFLOW_TRACKING_URI, or a SQLite file in the project."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{root.resolve() / DATABASE}"


def owner(root: Path) -> str:
    """Identifies the runs of this project on this machine: unfinished runs of another project may still be written."""
    return digest(platform.node(), str(root.resolve()))[:12]


def use(root: Path = Path()) -> str:
    """Make the store of the project the one that MLflow uses in this process; return its address."""
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    uri = store_uri(root)
    mlflow.set_tracking_uri(uri)
    return uri


def use_existing(root: Path = Path()) -> str:
    """The same for a command that only reads: a SQLite file that does not exist is not made."""
    uri = use(root)
    database = _database(uri)
    if database is not None and not database.is_file():
        raise UserError(f"{database} does not exist; run this in the project's folder, or set MLFLOW_TRACKING_URI.")
    return uri


def connect(experiment: str, root: Path = Path(), metric: str | None = None) -> tuple[mlflow.MlflowClient, str]:
    """A client of the project's store, and the id of the experiment, which is made if it is new.

    metric: what the views of the experiment are sorted by from now on; None leaves them as they are.

    A server that has never answered this project, and does not answer now, is an error after a short while. One that
    has answered before is waited for: a stage may begin while it is restarted.
    """
    uri = use(root)
    answered = root / paths.ANSWERED
    known = answered.is_file() and answered.read_bytes() == digest(uri).encode()

    def open_quickly() -> tuple[mlflow.MlflowClient, Experiment]:
        with few_retries():
            return _open(experiment, uri, metric)

    def open_patiently() -> tuple[mlflow.MlflowClient, Experiment]:
        return _open(experiment, uri, metric)

    try:
        with file_lock.locked(root / paths.LOCKS / "mlflow.lock", "the tracking database"):
            limit = patience.LIMIT if known else LIMIT_FOR_A_NEW_SERVER
            try:
                client, found = patience.call("connecting", uri, open_quickly, limit)
            except MlflowException as error:
                if not known or not _is_outage(error):
                    raise
                log.warning("the tracking server %s does not answer now; it did before.", masked(uri))
                client, found = patience.call("connecting", uri, open_patiently, limit)
            write_text(answered, digest(uri))
    except (MlflowException, SQLAlchemyError, OSError) as error:
        hint = (
            "start it, correct MLFLOW_TRACKING_URI (and MLFLOW_TRACKING_USERNAME, MLFLOW_TRACKING_PASSWORD, if it asks "
            f"for them), or {patience.WITHOUT}"
        )
        raise UserError(f"the tracking store {masked(uri)} cannot be used: {first_line(error)}; {hint}.") from None
    if found.lifecycle_stage != "active":
        raise UserError(
            f"the MLflow experiment '{experiment}' is deleted; restore it with "
            f"`mlflow experiments restore -x {found.experiment_id}`, or change tracking.experiment."
        )
    return client, found.experiment_id


def _open(experiment: str, uri: str, metric: str | None) -> tuple[mlflow.MlflowClient, Experiment]:
    database = _database(uri)
    if database is not None:
        _make_database(database)
    client = mlflow.MlflowClient()
    found = _experiment(client, experiment, database)
    if found.lifecycle_stage == "active":
        # A write, so that a wrong password or a lack of rights is reported now, not after hours.
        client.set_experiment_tag(found.experiment_id, "ldep.version", metadata.version("ldep"))
        experiment_page.describe(client, found.experiment_id, found.tags, metric)
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
    place = (database.resolve().parent / ARTIFACTS).as_uri() if database is not None else None
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
