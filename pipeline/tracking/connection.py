"""The tracking store: whatever MLFLOW_TRACKING_URI names, or a SQLite file in the project."""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from urllib.parse import ParseResult, urlparse

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

import mlflow
import requests
from mlflow.entities import Experiment
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_ALREADY_EXISTS, ErrorCode
from sqlalchemy.exc import SQLAlchemyError

from pipeline.common import file_lock
from pipeline.common.digests import digest
from pipeline.common.errors import UserError, first_line, masked
from pipeline.common.files import replacing, write_text
from pipeline.config import paths
from pipeline.tracking import experiment_page

log = logging.getLogger(__name__)
DATABASE, ARTIFACTS = "mlflow.db", "mlartifacts"
# MLflow's own patience is minutes: right for a server that is restarted while a run goes on, too long to say at the
# start that there is none.
AT_THE_START = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "15"}


def store_uri(root: Path = Path()) -> str:
    """MLFLOW_TRACKING_URI, or a SQLite file in the project."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{root.resolve() / DATABASE}"


def owner(root: Path) -> str:
    """Marks the runs of this project on this machine: what another one left unfinished may still be at work."""
    return digest(platform.node(), str(root.resolve()))[:12]


def connect(experiment: str, root: Path = Path()) -> tuple[mlflow.MlflowClient, str]:
    """A client of MLFLOW_TRACKING_URI or of a SQLite file in the project; and the experiment's id, made if new.

    A server that never answered this project is told at once. One that did is waited for, as long as MLflow waits: a
    stage may begin just when it is restarted.
    """
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    uri = store_uri(root)
    parts = urlparse(uri)
    mlflow.set_tracking_uri(uri)
    answered = root / paths.ANSWERED
    try:
        with file_lock.locked(root / paths.LOCKS / "mlflow.lock", "the tracking database"):
            try:
                with _impatient():
                    client, found = _open(experiment, parts)
            except MlflowException as error:
                known = answered.is_file() and answered.read_text(encoding="utf-8") == digest(uri)
                if not known or not _is_outage(error):
                    raise
                log.warning("the tracking server %s does not answer; it did before, so it is waited for.", masked(uri))
                client, found = _open(experiment, parts)
            write_text(answered, digest(uri))
    except (MlflowException, SQLAlchemyError, OSError) as error:
        hint = (
            "start it, correct MLFLOW_TRACKING_URI (and MLFLOW_TRACKING_USERNAME, MLFLOW_TRACKING_PASSWORD, if it asks "
            "for them), or set tracking.enabled to false"
        )
        raise UserError(f"the tracking store {masked(uri)} cannot be used: {first_line(error)}; {hint}.") from None
    if found.lifecycle_stage != "active":
        raise UserError(
            f"the MLflow experiment '{experiment}' is deleted; restore it with "
            f"`mlflow experiments restore -x {found.experiment_id}`, or change tracking.experiment."
        )
    return client, found.experiment_id


def _open(experiment: str, store: ParseResult) -> tuple[mlflow.MlflowClient, Experiment]:
    if store.scheme == "sqlite":
        _make_database(Path(store.path[1:]))
    client = mlflow.MlflowClient()
    found = _experiment(client, experiment, store)
    if found.lifecycle_stage == "active":
        # A write, so that a wrong password and a lack of rights are said now, not after hours.
        client.set_experiment_tag(found.experiment_id, "ldep.version", metadata.version("ldep"))
        experiment_page.describe(client, found.experiment_id, found.tags)
    return client, found


def _is_outage(error: MlflowException) -> bool:
    """Whether there was no answer at all; a refusal is one."""
    return isinstance(error.__cause__ or error.__context__, requests.RequestException)


@contextmanager
def _impatient() -> Iterator[None]:
    added = {name: value for name, value in AT_THE_START.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _experiment(client: mlflow.MlflowClient, name: str, store: ParseResult) -> Experiment:
    """The experiment of this name, made if new; several pipelines may start at once."""
    found = client.get_experiment_by_name(name)
    if found is not None:
        return found
    # Beside its database, wherever this was called from. A server has a place of its own.
    local = store.scheme == "sqlite"
    place = (Path(store.path[1:]).resolve().parent / ARTIFACTS).as_uri() if local else None
    try:
        client.create_experiment(name, artifact_location=place)
    except MlflowException as error:
        if error.error_code != ErrorCode.Name(RESOURCE_ALREADY_EXISTS):
            raise
    found = client.get_experiment_by_name(name)
    assert found is not None
    return found


def _make_database(path: Path) -> None:
    """Make the tables of a SQLite file that is not there, elsewhere first.

    MLflow takes seconds and many commits for it. Two processes at once crash; one that is killed leaves a file that
    MLflow cannot open again.
    """
    if not path.exists():
        with replacing(path.resolve()) as part:
            mlflow.MlflowClient(tracking_uri=f"sqlite:///{part}")
