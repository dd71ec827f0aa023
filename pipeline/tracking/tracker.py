"""MLflow: one experiment a suite, one run a set and model. Only the driver writes, when a model's folds are done.

A run carries the key of all its numbers depend on. A finished run with that key is not written again; one of ours that
was cut off is removed first. So a rerun adds nothing, and a kill leaves nothing half-done.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from pipeline.tracking.connection import connect, owner

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

from mlflow.entities import DatasetInput, Run, RunStatus, ViewType
from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from pipeline.common import machine
from pipeline.common.errors import UserError, first_line
from pipeline.config.params import Tracking
from pipeline.data.provenance import Provenance
from pipeline.execution import stored_fits
from pipeline.execution.listeners import Listener
from pipeline.execution.plan import Plan
from pipeline.fitting.training_data import TrainingData
from pipeline.tracking.tags import DATASET, KEY, MODEL, OWNER

log = logging.getLogger(__name__)
RUNNING = RunStatus.to_string(RunStatus.RUNNING)


class Tracker(Listener):
    """Writes the runs of one data set; `seconds` is the CPU time that took."""

    def __init__(
        self, params: Tracking, plan: Plan, rows: TrainingData, provenance: Provenance, root: Path = Path()
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

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
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
        from pipeline.tracking import run_content

        return run_content.dataset_input(self.plan, self.rows, self.provenance)

    def _write(self, model: str) -> None:
        from pipeline.tracking import run_content

        folds = self.records[model]
        failed = [record for record in folds.values() if record["status"] == "failed"]
        tags = {
            DATASET: self.plan.dataset,
            MODEL: model,
            "source": self.provenance.source,
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
        # A pipeline that skops cannot store was not kept; the message of the fit says why.
        content = stored_fits.model_file(self.plan.store, fit.key) if folds[0]["status"] == "ok" else None
        if self.params.models and content is not None:
            logged = run_content.log_model(self.client, run, fit, content, self.rows)
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
