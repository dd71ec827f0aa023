"""Tracking of training: one MLflow run per data set and model, written when all folds of the model are finished.

A run carries the key of everything its numbers depend on. A finished run with that key is not written again, and a run
of ours that was interrupted is removed first. So running again adds nothing, and a kill leaves nothing half-written.
The runs inside it are written before it is finished. If params.yaml asks for others later, they are replaced.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlflow.entities import DatasetInput, Run

from ldep_pipeline.common import machine
from ldep_pipeline.compat import mlflow_ui
from ldep_pipeline.config.params import Tracking
from ldep_pipeline.data.stage_files import Provenance
from ldep_pipeline.execution.plan import TrainingPlan
from ldep_pipeline.execution.scheduler import Listener
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.tracking import connection, experiment_page, runs
from ldep_pipeline.tracking.experiment_page import NOTE
from ldep_pipeline.tracking.runs import CHILDREN, COMMIT, DATASET, KEY, METRIC, MODEL, OWNER, SCORE

if TYPE_CHECKING:
    from ldep_pipeline.tracking.run_content import RunRecord


class Tracker(Listener):
    """Writes the runs of one data set. `seconds` is the CPU time that this took."""

    def __init__(
        self, params: Tracking, plan: TrainingPlan, rows: TrainingData, provenance: Provenance, root: Path = Path()
    ) -> None:
        began = time.thread_time()
        self.params, self.plan, self.rows, self.provenance = params, plan, rows, provenance
        self.folds: dict[str, dict[int, dict[str, Any]]] = {model: {} for model in plan.models}
        self.store = connection.connect(params.experiment, root)
        self.client, self.experiment, self.owner = self.store.client, self.store.experiment, self.store.owner
        self.commit, self.children = machine.commit(), runs.children_wanted(params)
        self.seconds = time.thread_time() - began
        self._finished: dict[str, Run] = {}
        self._with_store(f"reading the runs of {plan.dataset}", self._prepare)

    def fit_finished(self, model: str, fold: int, record: dict[str, Any], stored: bool) -> None:
        self.folds[model][fold] = record
        if len(self.folds[model]) < self.plan.folds:
            return
        written = self._finished.get(self.plan.key(model))
        if written is not None and self._is_up_to_date(written):
            return

        def write() -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # MLflow's, about pandas
                if written is not None:
                    self._update(written, model)
                elif not self._is_written(self.plan.key(model)):
                    self._write(model)

        self._with_store(f"writing the run of {self.plan.dataset}, {model}", write)

    def close(self) -> None:
        """Remove runs that were begun twice, because a request was repeated after an outage, and so never end."""

        self._with_store(f"reading the runs of {self.plan.dataset}", self._remove_unfinished)

    def _with_store(self, what: str, work: Callable[[], None]) -> None:
        """Do some work with the tracking store, and count its CPU time."""

        def timed() -> None:
            began = time.thread_time()
            try:
                work()
            finally:
                self.seconds += time.thread_time() - began

        advice = f"The fits are kept: run this again when the store can be used, or {connection.WITHOUT}"
        self.store.do(what, timed, f"{what} failed", advice)

    def _prepare(self) -> None:
        """Remove our runs that were interrupted and failed ones of these models; remember the finished ones."""
        where = f"tags.{DATASET} = '{self.plan.dataset}' and tags.`{KEY}` LIKE '%'"
        for run in runs.search(self.client, self.experiment, where):
            if run.info.status == runs.FINISHED:
                self._finished[run.data.tags[KEY]] = run
            elif run.data.tags.get(OWNER) == self.owner and (
                run.info.status == runs.RUNNING or run.data.tags.get(MODEL) in self.plan.models
            ):
                self._remove(run)
        self._remove_unfinished()
        experiment_page.describe_dataset(self.client, self.experiment, self.plan.dataset, self.plan.metric)

    def _remove_unfinished(self) -> None:
        """Remove our runs of this data set that are still marked as running, and those inside other runs too."""
        ours = f"tags.{DATASET} = '{self.plan.dataset}' and tags.`{OWNER}` = '{self.owner}'"
        for run in runs.search(self.client, self.experiment, f"{ours} and attributes.status = '{runs.RUNNING}'"):
            self._remove(run)

    def _is_up_to_date(self, run: Run) -> bool:
        """Whether a finished run follows params.yaml, or is not ours to change."""
        tags = run.data.tags
        return tags.get(OWNER) != self.owner or (
            tags.get(METRIC) == self.plan.metric and tags.get(CHILDREN) == self.children
        )

    def _update(self, run: Run, model: str) -> None:
        """Bring a finished run up to date, whose numbers stay: its score, and the runs inside it."""
        from ldep_pipeline.tracking import child_runs, run_content

        run_id, metric = run.info.run_id, self.plan.metric
        if run.data.tags.get(METRIC) != metric:
            value = run.data.metrics.get(metric)
            self.client.log_metric(run_id, SCORE, run_content.score(metric, value) if value is not None else math.nan)
            self.client.set_tag(run_id, METRIC, metric)
        if run.data.tags.get(CHILDREN) != self.children:
            for child in child_runs.children_of(self.client, self.experiment, run_id):
                self._remove(child)
            record = run_content.RunRecord(self.plan, model, self.folds[model], self.rows, self.provenance)
            self._write_children(run, record)
            self.client.set_tag(run_id, NOTE, self._description(record))

    def _write_children(self, run: Run, record: RunRecord) -> None:
        """Write the runs inside a run; then its tag, which says that they are complete."""
        from ldep_pipeline.tracking import child_runs

        children = child_runs.of_model(record, self.params)
        child_runs.write(self.client, run, self.owner, record.dataset, children)
        tuned = child_runs.studies(record, self.params)
        if tuned:
            view = experiment_page.view_of_trials(record.dataset, record.model)
            run_id, search = run.info.run_id, tuned[0].entry.search
            experiment_page.describe_trials(self.client, self.experiment, run_id, view, search, self.plan.metric)
        self.client.set_tag(run.info.run_id, CHILDREN, self.children)

    def _description(self, record: RunRecord) -> str:
        from ldep_pipeline.tracking import child_runs, run_content

        dataset = record.dataset
        views = {f"All models of {dataset}": experiment_page.view_of_models(dataset)}
        if self.params.folds:
            views["The folds of all models"] = experiment_page.view_of_folds(dataset)
        if child_runs.studies(record, self.params):
            views["The trials that tuned this model"] = experiment_page.view_of_trials(dataset, record.model)
        folds = experiment_page.view_of_folds(dataset)
        links = {text: mlflow_ui.link(self.experiment, view, charts=view != folds) for text, view in views.items()}
        return run_content.description(record, links)

    def _is_written(self, key: str) -> bool:
        """Whether another pipeline has finished the same run since this one began."""
        where = f"tags.`{KEY}` = '{key}' and attributes.status = '{runs.FINISHED}'"
        return bool(self.client.search_runs([self.experiment], where, max_results=1))

    def _remove(self, run: Run) -> None:
        from ldep_pipeline.tracking import child_runs

        run_id = run.info.run_id
        if KEY in run.data.tags:
            for child in child_runs.children_of(self.client, self.experiment, run_id):
                self._remove(child)
        if run.info.status == runs.RUNNING:
            self.client.set_terminated(run_id, runs.KILLED)
        for model in self.client.search_logged_models([self.experiment], f"source_run_id = '{run_id}'"):
            self.client.delete_logged_model(model.model_id)
        self.client.delete_run(run_id)

    @cached_property
    def _dataset(self) -> DatasetInput:
        from ldep_pipeline.tracking.run_content import dataset_input

        return dataset_input(self.plan, self.rows, self.provenance)

    def _write(self, model: str) -> None:
        # These load matplotlib and skops, which takes longer than the work of a run that is up to date.
        from ldep_pipeline.tracking import artifacts, run_content

        record = run_content.RunRecord(self.plan, model, self.folds[model], self.rows, self.provenance)
        tags = {
            DATASET: record.dataset,
            MODEL: record.model,
            "source": record.provenance.source,
            COMMIT: self.commit,
            "dvc.stage": os.environ.get("DVC_STAGE", ""),
            **{f"dvc.md5.{kind}": value for kind, value in self.plan.md5.items()},
            KEY: self.plan.key(record.model),
            OWNER: self.owner,
            "mlflow.source.name": f"ldep train {record.dataset}",
            "mlflow.source.type": "LOCAL",
            METRIC: self.plan.metric,
            NOTE: self._description(record),
        }
        # The UI shows end minus start as the duration: it should be that of the work, not of writing it down.
        began = int(1000 * (time.time() - record.seconds))
        run = self.client.create_run(self.experiment, start_time=began, run_name=record.title, tags=tags)
        run_id, model_id = run.info.run_id, None
        fit = self.plan.fits[record.model, 0]
        # A pipeline that skops cannot store was not kept; the message of the fit says why.
        content = self.plan.store.pipeline_of(fit.key) if record.folds[0]["status"] != "failed" else None
        if self.params.models and content is not None:
            model_id = artifacts.log_model(self.client, run, fit, content, self.rows)
        self.client.log_inputs(run_id, [self._dataset])
        values, parameters = run_content.metrics(record, model_id), run_content.parameters(record)
        self.client.log_batch(run_id, metrics=values, params=parameters)
        self.client.log_table(run_id, run_content.settings_table(record), "settings.json")
        with tempfile.TemporaryDirectory() as scratch:
            artifacts.write(record, Path(scratch))
            self.client.log_artifacts(run_id, scratch)
        self._write_children(run, record)
        self.client.set_terminated(run_id, runs.FAILED if record.has_failed else runs.FINISHED)
