"""Our runs in MLflow: the tags by which they are found again, and the run `report`, whose artifacts are the report.

Reports are in an experiment of their own, and the versions that a report describes have links to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import mlflow
from mlflow.entities import Run, RunStatus
from mlflow.exceptions import MlflowException

from ldep_pipeline.common import machine
from ldep_pipeline.compat import mlflow_ui

if TYPE_CHECKING:
    from ldep_pipeline.config.params import Tracking
    from ldep_pipeline.tracking.connection import Connection

KEY = "ldep.key"  # a digest of everything that the content of the run depends on
OWNER = "ldep.owner"  # the project that wrote the run
KIND = "ldep.kind"  # what a run is, if not that of a model: one of the next line
FOLD, TRIAL, REPORT = "fold", "trial", "report"
CHILDREN = "ldep.children"  # on the run of a model: which runs are inside it
WINNER = "winner"  # on the run of the model that is registered for its data set
CHOSEN = "chosen"  # on the trial whose settings tuning chose
YES = "yes"
DATASET, MODEL, COMMIT = "dataset", "model", "commit"
METRIC = "metric"  # a tag: the metric that decides on the data set
SCORE, INNER_SCORE = "score", "inner_score"  # metrics: of a model's run, by which views are sorted; of a trial
CLASSIFIER = "classifier"  # a parameter: the model
LINKS = "**[Report]("  # the beginning of the links in the description of a version
RUNNING, FINISHED, FAILED, KILLED = (
    RunStatus.to_string(status)
    for status in (RunStatus.RUNNING, RunStatus.FINISHED, RunStatus.FAILED, RunStatus.KILLED)
)


def children_wanted(tracking: Tracking) -> str:
    """The value of the tag `ldep.children`: what params.yaml asks for inside the run of a model."""
    return f"{'folds' if tracking.folds else 'no folds'}, trials: {tracking.trials}"


def search(client: mlflow.MlflowClient, experiment: str, where: str) -> list[Run]:
    """All active runs that match a filter, the newest first."""
    runs: list[Run] = []
    token: str | None = None
    while token is None or token:
        page = client.search_runs([experiment], where, page_token=token)
        runs += page
        token = page.token or ""
    return runs


class ReportRuns:
    """The report runs of an experiment. The same report is logged only once."""

    def __init__(self, store: Connection) -> None:
        self.store = store
        self.client, self.experiment, self.owner = store.client, store.experiment, store.owner

    def training_commits(self, datasets: Sequence[str]) -> list[str]:
        """The commits at which this project's newest finished run of each data set and model was trained."""
        where = f"tags.{MODEL} LIKE '%' and tags.`{OWNER}` = '{self.owner}' and attributes.status = '{FINISHED}'"

        def read() -> list[str]:
            newest: dict[tuple[str, str], str] = {}
            for run in search(self.client, self.experiment, where):  # the newest comes first
                tags = run.data.tags
                if tags.get(DATASET) in datasets:
                    newest.setdefault((tags[DATASET], tags[MODEL]), tags.get(COMMIT, "unknown"))
            return sorted(set(newest.values()))

        problem = "the tracked runs could not be read"
        return self.store.do("report", read, problem, "Solve this, then run `ldep report` again")

    def log(self, folder: Path, page: str, key: str, summary: Sequence[str]) -> str:
        """Log the files of the folder, unless a run with this key has them; return the id of the run.

        page: the file to which the description of the run links.
        """

        def write() -> str:
            return self._finished_run(key) or self._create_run(folder, page, key, summary)

        advice = f"Its files are in {folder}; solve this, then run `ldep report` again"
        return self.store.do("report", write, "the report could not be tracked", advice)

    def link(self, run_id: str, model: str, version: int, page: str, card: str) -> None:
        """Link a data set's page and model card, files of a report's run, on the version that they describe."""

        def write() -> None:
            links = {name: mlflow_ui.artifact_link(self.reports, run_id, name) for name in (page, card)}
            try:
                described = self.client.get_model_version(model, str(version)).description or ""
            except MlflowException as error:
                if error.error_code == "RESOURCE_DOES_NOT_EXIST":  # somebody has deleted it
                    return
                raise
            others = [paragraph for paragraph in described.split("\n\n") if not paragraph.startswith(LINKS)]
            text = "\n\n".join([f"{LINKS}{links[page]})** · **[Model card]({links[card]})**", *others])
            if text != described:
                self.client.update_model_version(model, str(version), text)
                self.client.set_model_version_tag(model, str(version), "report", links[page])
                self.client.set_model_version_tag(model, str(version), "model_card", links[card])

        advice = "Solve this, then run `ldep report` again"
        self.store.do("report", write, f"the report could not be linked on version {version} of {model}", advice)

    @cached_property
    def reports(self) -> str:
        """The id of their experiment."""
        return self.store.reports()

    def _finished_run(self, key: str) -> str | None:
        """The run that has this report, if any. Runs that a killed process of ours left unfinished are deleted."""
        for run in search(self.client, self.reports, f"tags.`{KIND}` = '{REPORT}'"):
            if run.info.status == FINISHED:
                if run.data.tags.get(KEY) == key:
                    return run.info.run_id
            elif run.data.tags.get(OWNER) == self.owner:
                self.client.set_terminated(run.info.run_id, KILLED)
                self.client.delete_run(run.info.run_id)
        return None

    def _create_run(self, folder: Path, page: str, key: str, summary: Sequence[str]) -> str:
        tags = {KIND: REPORT, KEY: key, OWNER: self.owner, COMMIT: machine.commit()}
        run_id = self.client.create_run(self.reports, run_name="report", tags=tags).info.run_id
        link = mlflow_ui.artifact_link(self.reports, run_id, page)
        description = "\n\n".join([f"**[Open the report]({link})**", *summary])
        self.client.set_tag(run_id, "mlflow.note.content", description)
        self.client.log_artifacts(run_id, str(folder))
        self.client.set_terminated(run_id, FINISHED)
        return run_id
