"""The MLflow run `report`, which has the report as its artifacts. The same report is logged only once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mlflow.entities import Run, RunStatus
from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from pipeline.common import machine
from pipeline.common.errors import UserError, first_line
from pipeline.config.params import Tracking
from pipeline.tracking import connection
from pipeline.tracking.tags import COMMIT, DATASET, KEY, KIND, MODEL, OWNER

FINISHED, KILLED = RunStatus.to_string(RunStatus.FINISHED), RunStatus.to_string(RunStatus.KILLED)


class ReportRuns:
    """The report runs of an experiment."""

    def __init__(self, params: Tracking, root: Path) -> None:
        self.root = root
        self.client, self.experiment = connection.connect(params.experiment, root)

    def training_commits(self, datasets: Sequence[str]) -> list[str]:
        """The commits at which this project's newest finished run of each data set and model was trained."""
        owner = connection.owner(self.root)
        try:
            runs = self._search(
                f"tags.{MODEL} LIKE '%' and tags.`{OWNER}` = '{owner}' and attributes.status = 'FINISHED'"
            )
        except (MlflowException, SQLAlchemyError, OSError) as error:
            raise UserError(
                f"the tracked runs could not be read: {first_line(error)}. Solve this, then run `ldep report` again."
            ) from None
        newest: dict[tuple[str, str], str] = {}
        for run in runs:  # the newest comes first
            tags = run.data.tags
            if tags.get(DATASET) in datasets:
                newest.setdefault((tags[DATASET], tags[MODEL]), tags.get(COMMIT, "unknown"))
        return sorted(set(newest.values()))

    def log(self, folder: Path, page: str, key: str, summary: Sequence[str]) -> str:
        """Log the files of the folder, unless a run with this key has them; return the id of the run.

        page: the file to which the description of the run links.
        """
        try:
            return self._finished_run(key) or self._create_run(folder, page, key, summary)
        except (MlflowException, SQLAlchemyError, OSError) as error:
            raise UserError(
                f"the report could not be tracked: {first_line(error)}. Its files are in {folder}; solve this, then "
                "run `ldep report` again."
            ) from None

    def _finished_run(self, key: str) -> str | None:
        """The run that has this report, if any. Runs that a killed process of ours left unfinished are deleted."""
        owner = connection.owner(self.root)
        for run in self._search(f"tags.`{KIND}` = 'report'"):
            if run.info.status == FINISHED:
                if run.data.tags.get(KEY) == key:
                    return run.info.run_id
            elif run.data.tags.get(OWNER) == owner:
                self.client.set_terminated(run.info.run_id, KILLED)
                self.client.delete_run(run.info.run_id)
        return None

    def _create_run(self, folder: Path, page: str, key: str, summary: Sequence[str]) -> str:
        tags = {KIND: "report", KEY: key, OWNER: connection.owner(self.root), COMMIT: machine.commit()}
        run_id = self.client.create_run(self.experiment, run_name="report", tags=tags).info.run_id
        link = f"#/experiments/{self.experiment}/runs/{run_id}/artifacts/{page}"
        description = "\n\n".join([f"**[Open the report]({link})**", *summary])
        self.client.set_tag(run_id, "mlflow.note.content", description)
        self.client.log_artifacts(run_id, str(folder))
        self.client.set_terminated(run_id, FINISHED)
        return run_id

    def _search(self, condition: str) -> list[Run]:
        runs: list[Run] = []
        token: str | None = None
        while token is None or token:
            page = self.client.search_runs([self.experiment], condition, page_token=token)
            runs += page
            token = page.token or ""
        return runs
