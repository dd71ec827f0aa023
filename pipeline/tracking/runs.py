"""Searching the runs of an experiment."""

from __future__ import annotations

import mlflow
from mlflow.entities import Run, RunStatus

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
