"""The MLflow run `report`, which has the report as its artifacts. The same report is logged only once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from pipeline.common import machine
from pipeline.common.errors import UserError, first_line
from pipeline.config.params import Tracking
from pipeline.tracking import connection, patience, runs
from pipeline.tracking.tags import COMMIT, DATASET, KEY, KIND, MODEL, OWNER

Result = TypeVar("Result")


class ReportRuns:
    """The report runs of an experiment."""

    def __init__(self, params: Tracking, root: Path) -> None:
        self.client, self.experiment = connection.connect(params.experiment, root)
        self.uri, self.owner = connection.store_uri(root), connection.owner(root)

    def training_commits(self, datasets: Sequence[str]) -> list[str]:
        """The commits at which this project's newest finished run of each data set and model was trained."""
        where = f"tags.{MODEL} LIKE '%' and tags.`{OWNER}` = '{self.owner}' and attributes.status = '{runs.FINISHED}'"

        def read() -> list[str]:
            newest: dict[tuple[str, str], str] = {}
            for run in runs.search(self.client, self.experiment, where):  # the newest comes first
                tags = run.data.tags
                if tags.get(DATASET) in datasets:
                    newest.setdefault((tags[DATASET], tags[MODEL]), tags.get(COMMIT, "unknown"))
            return sorted(set(newest.values()))

        return self._with_store("the tracked runs could not be read", read, "Solve this")

    def log(self, folder: Path, page: str, key: str, summary: Sequence[str]) -> str:
        """Log the files of the folder, unless a run with this key has them; return the id of the run.

        page: the file to which the description of the run links.
        """

        def write() -> str:
            return self._finished_run(key) or self._create_run(folder, page, key, summary)

        hint = f"Its files are in {folder}; solve this"
        return self._with_store("the report could not be tracked", write, hint)

    def _with_store(self, problem: str, work: Callable[[], Result], hint: str) -> Result:
        try:
            return patience.call("report", self.uri, work)
        except (MlflowException, SQLAlchemyError, OSError) as error:
            raise UserError(f"{problem}: {first_line(error)}. {hint}, then run `ldep report` again.") from None

    def _finished_run(self, key: str) -> str | None:
        """The run that has this report, if any. Runs that a killed process of ours left unfinished are deleted."""
        for run in runs.search(self.client, self.experiment, f"tags.`{KIND}` = 'report'"):
            if run.info.status == runs.FINISHED:
                if run.data.tags.get(KEY) == key:
                    return run.info.run_id
            elif run.data.tags.get(OWNER) == self.owner:
                self.client.set_terminated(run.info.run_id, runs.KILLED)
                self.client.delete_run(run.info.run_id)
        return None

    def _create_run(self, folder: Path, page: str, key: str, summary: Sequence[str]) -> str:
        tags = {KIND: "report", KEY: key, OWNER: self.owner, COMMIT: machine.commit()}
        run_id = self.client.create_run(self.experiment, run_name="report", tags=tags).info.run_id
        link = f"#/experiments/{self.experiment}/runs/{run_id}/artifacts/{page}"
        description = "\n\n".join([f"**[Open the report]({link})**", *summary])
        self.client.set_tag(run_id, "mlflow.note.content", description)
        self.client.log_artifacts(run_id, str(folder))
        self.client.set_terminated(run_id, runs.FINISHED)
        return run_id
