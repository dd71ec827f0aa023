"""The MLflow run `report`, which holds the report as an artifact. The same report is there once."""

from __future__ import annotations

from pathlib import Path

from mlflow.entities import Run, RunStatus
from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from pipeline.common import machine
from pipeline.common.errors import UserError, first_line
from pipeline.config.params import Tracking
from pipeline.tracking import connection
from pipeline.tracking.tracker import DATASET, KEY, MODEL, OWNER

KIND = "ldep.kind"
PAGE = "report.html"


class Reports:
    """The report runs of an experiment."""

    def __init__(self, params: Tracking, root: Path) -> None:
        self.root = root
        self.client, self.experiment = connection.connect(params.experiment, root)

    def commits(self, names: list[str]) -> list[str]:
        """The commits at which this project's newest finished run of each set and model was trained."""
        found: dict[tuple[str, str], str] = {}
        owner = connection.owner(self.root)
        where = f"tags.{MODEL} LIKE '%' and tags.`{OWNER}` = '{owner}' and attributes.status = 'FINISHED'"
        try:
            runs = self._search(where)  # newest first
        except (MlflowException, SQLAlchemyError, OSError) as error:
            said = first_line(error)
            raise UserError(f"the tracked runs could not be read: {said}. Mend this, and run it again.") from None
        for run in runs:
            tags = run.data.tags
            if tags.get(DATASET) in names:
                found.setdefault((tags[DATASET], tags[MODEL]), tags.get("commit", "unknown"))
        return sorted(set(found.values()))

    def log(self, folder: Path, key: str, summary: list[str]) -> str:
        """Make the run of this report unless it is there; return its id."""
        try:
            return self._log(folder, key, summary)
        except (MlflowException, SQLAlchemyError, OSError) as error:
            said = first_line(error)
            raise UserError(f"the report could not be tracked: {said}. It is in {folder}: run this again.") from None

    def _log(self, folder: Path, key: str, summary: list[str]) -> str:
        owner = connection.owner(self.root)
        for run in self._search(f"tags.`{KIND}` = 'report'"):
            if run.info.status == RunStatus.to_string(RunStatus.FINISHED):
                if run.data.tags.get(KEY) == key:
                    return run.info.run_id
            elif run.data.tags.get(OWNER) == owner:  # of a process that was cut off
                self.client.set_terminated(run.info.run_id, RunStatus.to_string(RunStatus.KILLED))
                self.client.delete_run(run.info.run_id)
        tags = {KIND: "report", KEY: key, OWNER: owner, "commit": machine.commit()}
        run = self.client.create_run(self.experiment, run_name="report", tags=tags)
        run_id = run.info.run_id
        page = f"#/experiments/{self.experiment}/runs/{run_id}/artifacts/{PAGE}"
        text = "\n\n".join([f"**[Open the report]({page})**", *summary])
        self.client.set_tag(run_id, "mlflow.note.content", text)
        self.client.log_artifacts(run_id, str(folder))
        self.client.set_terminated(run_id, RunStatus.to_string(RunStatus.FINISHED))
        return run_id

    def _search(self, where: str) -> list[Run]:
        runs: list[Run] = []
        token: str | None = None
        while token is None or token:
            page = self.client.search_runs([self.experiment], where, page_token=token)
            runs += page
            token = page.token or ""
        return runs
