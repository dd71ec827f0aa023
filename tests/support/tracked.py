"""A small data set, trained and tracked in a store of its own, with one model that fails on a fold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mlflow
import pytest
from mlflow.entities import Run

from ldep_pipeline.config.params import Params
from ldep_pipeline.stages import train
from tests.support import tiny


def params(**tracking: Any) -> Params:
    classifiers = {
        **tiny.values()["classifiers"],
        "bad": {"class": "tests.support.tiny.FailsOnFold", "params": {"rows": 60}},
    }
    return tiny.checked(
        models=["svc", "ldep", "ldep_cv", "bad"],
        classifiers=classifiers,
        tracking={"experiment": "suite", **tracking},
    )


def make(folder: Path) -> Path:
    """Train in a new folder."""
    tiny.prepare(folder, rows=91)
    (folder / "data/provenance").mkdir()
    (folder / "data/provenance/tiny.json").write_text(json.dumps({"source": "file", "file": "tiny.csv"}))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        patch.setenv("DVC_STAGE", "train@tiny")
        with pytest.raises(train.ModelsFailed):
            train.run("tiny", params())
    return folder


def children(client: mlflow.MlflowClient, run: Run, kind: str) -> dict[str, Run]:
    """The active runs of a kind inside a run, by name; each name is there once."""
    where = f"tags.`mlflow.parentRunId` = '{run.info.run_id}' and tags.`ldep.kind` = '{kind}'"
    found = client.search_runs([run.info.experiment_id], where)
    by_name = {child.info.run_name: child for child in found}
    assert len(by_name) == len(found)
    return by_name


def runs(client: mlflow.MlflowClient) -> dict[str, Run]:
    """The active runs of models, by model; each model has one."""
    experiment = client.get_experiment_by_name("suite")
    active = client.search_runs([experiment.experiment_id], "tags.model LIKE '%'")
    by_model = {run.data.tags["model"]: run for run in active}
    assert len(by_model) == len(active)
    return by_model
