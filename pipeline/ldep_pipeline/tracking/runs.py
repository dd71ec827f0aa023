"""Our runs in MLflow: the tags by which they are found again, and the run `report`, whose artifacts are the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import mlflow
from mlflow.entities import Run, RunStatus

from ldep_pipeline.common import machine

if TYPE_CHECKING:
    from ldep_pipeline.tracking.connection import Connection

KEY = "ldep.key"  # a digest of everything that the content of the run depends on
OWNER = "ldep.owner"  # the project that wrote the run
KIND = "ldep.kind"  # `report` for a report's run
WINNER = "winner"  # on the run of the model that is registered for its data set
DATASET, MODEL, COMMIT = "dataset", "model", "commit"
RUNNING, FINISHED, FAILED, KILLED = (
    RunStatus.to_string(status)
    for status in (RunStatus.RUNNING, RunStatus.FINISHED, RunStatus.FAILED, RunStatus.KILLED)
)


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

    def _finished_run(self, key: str) -> str | None:
        """The run that has this report, if any. Runs that a killed process of ours left unfinished are deleted."""
        for run in search(self.client, self.experiment, f"tags.`{KIND}` = 'report'"):
            if run.info.status == FINISHED:
                if run.data.tags.get(KEY) == key:
                    return run.info.run_id
            elif run.data.tags.get(OWNER) == self.owner:
                self.client.set_terminated(run.info.run_id, KILLED)
                self.client.delete_run(run.info.run_id)
        return None

    def _create_run(self, folder: Path, page: str, key: str, summary: Sequence[str]) -> str:
        tags = {KIND: "report", KEY: key, OWNER: self.owner, COMMIT: machine.commit()}
        run_id = self.client.create_run(self.experiment, run_name="report", tags=tags).info.run_id
        link = f"#/experiments/{self.experiment}/runs/{run_id}/artifacts/{page}"
        description = "\n\n".join([f"**[Open the report]({link})**", *summary])
        self.client.set_tag(run_id, "mlflow.note.content", description)
        self.client.log_artifacts(run_id, str(folder))
        self.client.set_terminated(run_id, FINISHED)
        return run_id
