"""MLflow: one experiment a suite, one run a set and model. Only the driver writes, when a model's folds are done.

A run carries the key of all its numbers depend on. A finished run with that key is not written again; one of ours that
was cut off is removed first. So a rerun adds nothing, and a kill leaves nothing half-done.
"""

from __future__ import annotations

import logging
import os
import platform
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import ParseResult, urlparse

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

import mlflow
import requests
from mlflow.entities import DatasetInput, Experiment, Run, RunStatus, ViewType
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_ALREADY_EXISTS, ErrorCode
from sqlalchemy.exc import SQLAlchemyError

from pipeline import experiment_page, lock, machine, paths
from pipeline.errors import UserError, first_line, masked
from pipeline.files import replacing, write_text
from pipeline.fitting import Rows
from pipeline.params import Tracking
from pipeline.plan import Plan
from pipeline.scheduler import Listener
from pipeline.store import digest

log = logging.getLogger(__name__)
KEY, OWNER, DATASET, MODEL = "ldep.key", "ldep.owner", "dataset", "model"
RUNNING = RunStatus.to_string(RunStatus.RUNNING)
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
        with lock.held(root / paths.LOCKS / "mlflow.lock", "the tracking database"):
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


class Tracker(Listener):
    """Writes the runs of one data set; `seconds` is the CPU time that took."""

    def __init__(
        self, params: Tracking, plan: Plan, rows: Rows, provenance: dict[str, Any], root: Path = Path()
    ) -> None:
        began = time.thread_time()
        self.params, self.plan, self.rows, self.provenance = params, plan, rows, provenance
        self.records: dict[str, dict[int, dict[str, Any]]] = {model: {} for model in plan.models}
        self.client, self.experiment = connect(params.experiment, root)
        self.owner = owner(root)
        self.commit = machine.commit()
        with _said(f"the runs of {self.plan.dataset} could not be read"):
            self._existing = self._clear()
        self.seconds = time.thread_time() - began

    def fitted(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        self.records[model][fold] = record
        if len(self.records[model]) == self.plan.folds and self.plan.key(model) not in self._existing:
            began = time.thread_time()
            with _said(f"the run of {self.plan.dataset}, {model} could not be tracked"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of MLflow about pandas
                if not self._is_written(self.plan.key(model)):
                    self._write(model)
            self.seconds += time.thread_time() - began

    def close(self) -> None:
        """A request that was repeated after an outage may have begun a run twice; the one that never ends goes."""
        with _said(f"the runs of {self.plan.dataset} could not be read"):
            for run in self._runs():
                if run.info.status == RUNNING and run.data.tags.get(OWNER) == self.owner:
                    self._remove(run)

    def _clear(self) -> set[str]:
        """Remove our runs that were cut off, and failed ones of these models; return the keys of the finished ones."""
        finished = set()
        for run in self._runs():
            if run.info.status == RunStatus.to_string(RunStatus.FINISHED):
                finished.add(run.data.tags[KEY])
            elif run.data.tags.get(OWNER) == self.owner and (
                run.info.status == RUNNING or run.data.tags.get(MODEL) in self.plan.models
            ):
                self._remove(run)
        return finished

    def _is_written(self, key: str) -> bool:
        """Whether another pipeline has finished the same run since this one began."""
        finished = f"tags.`{KEY}` = '{key}' and attributes.status = '{RunStatus.to_string(RunStatus.FINISHED)}'"
        return bool(self.client.search_runs([self.experiment], finished, max_results=1))

    def _remove(self, run: Run) -> None:
        run_id = run.info.run_id
        if run.info.status == RUNNING:
            self.client.set_terminated(run_id, RunStatus.to_string(RunStatus.KILLED))
        for model in self.client.search_logged_models([self.experiment], f"source_run_id = '{run_id}'"):
            self.client.delete_logged_model(model.model_id)
        self.client.delete_run(run_id)

    def _runs(self) -> list[Run]:
        runs: list[Run] = []
        token: str | None = None
        while token is None or token:
            page = self.client.search_runs(
                [self.experiment],
                f"tags.{DATASET} = '{self.plan.dataset}' and tags.`{KEY}` LIKE '%'",
                ViewType.ACTIVE_ONLY,
                page_token=token,
            )
            runs += page
            token = page.token or ""
        return runs

    @cached_property
    def _dataset(self) -> DatasetInput:
        from pipeline import run_content

        return run_content.dataset_input(self.plan, self.rows, self.provenance)

    def _write(self, model: str) -> None:
        from pipeline import run_content

        folds = self.records[model]
        failed = [record for record in folds.values() if record["status"] == "failed"]
        tags = {
            DATASET: self.plan.dataset,
            MODEL: model,
            "source": str(self.provenance["source"]),
            "commit": self.commit,
            "dvc.stage": os.environ.get("DVC_STAGE", ""),
            **{f"dvc.md5.{kind}": value for kind, value in self.plan.md5.items()},
            KEY: self.plan.key(model),
            OWNER: self.owner,
            "mlflow.source.name": f"ldep train {self.plan.dataset}",
            "mlflow.source.type": "LOCAL",
            "mlflow.note.content": run_content.description(self.plan, model, folds, self.rows, self.provenance),
        }
        # The UI shows end less start as the duration: it should be that of the work, not of writing it down.
        began = int(1000 * (time.time() - run_content.work_seconds(folds)))
        run = self.client.create_run(
            self.experiment, start_time=began, run_name=f"{self.plan.dataset} · {model}", tags=tags
        )
        run_id = run.info.run_id
        logged = None
        fit = self.plan.fits[model, 0]
        # A pipeline that cannot be pickled was not kept; the fit's message says so.
        kept = folds[0]["status"] == "ok" and self.plan.store.file(fit.key, ".pickle").is_file()
        if self.params.models and kept:
            logged = run_content.log_model(self.client, run, fit, self.plan.store, self.rows)
        self.client.log_inputs(run_id, [self._dataset])
        metrics, params = run_content.numbers(folds, logged), run_content.settings(self.plan.dataset, model, folds)
        self.client.log_batch(run_id, metrics=metrics, params=params)
        with tempfile.TemporaryDirectory() as scratch:
            run_content.artifacts(Path(scratch), self.plan, model, folds, self.rows)
            self.client.log_artifacts(run_id, scratch)
        self.client.set_terminated(run_id, RunStatus.to_string(RunStatus.FAILED if failed else RunStatus.FINISHED))


@contextmanager
def _said(what: str) -> Iterator[None]:
    try:
        yield
    except (MlflowException, SQLAlchemyError, OSError) as error:
        raise UserError(
            f"{what}: {first_line(error)}. What was fitted is kept: run it again when the store can be used."
        ) from None
