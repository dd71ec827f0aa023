"""What a person sees first in the MLflow UI: the experiment's note, and the views that its menu "Views" offers.

MLflow keeps both as tags of the experiment. A view has the form in which the UI of MLflow 3.17 saves one.
`make ui-test` opens it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

import mlflow

from pipeline.fitting.metrics import METRICS

NOTE, KIND, VIEW = "mlflow.note.content", "mlflow.experimentKind", "mlflow.sharedViewState."
BY_DATASET, BY_MODEL = "by-dataset", "by-model"
COLUMNS = ("accuracy", "accuracy_std", *list(METRICS)[1:], "tune_cpu_seconds", "fit_cpu_seconds")
TEXT = """\
A run is **one model on one data set**, cross-validated: `banana · ldep`. Its page tells what was measured and chosen.

| look at | for |
| --- | --- |
| [the models of each set]({by_dataset}) | runs grouped by data set, the best first |
| [each model over the sets]({by_model}) | runs grouped by model, with the mean of the group |
| [registered models](#/models) | the winner of each set, ready to serve |

To compare: tick runs, then *Compare*. In its plots the parameter `classifier` is the model.

| metric | meaning |
| --- | --- |
| {metrics} | mean over the test folds; `f1_micro` = `accuracy` |
| `..._std` | sample deviation over the folds |
| `fold/...` | the value of each fold: the step is the fold |
| `curve/objective` | training of fold 0: the step is the iteration |
| `fit_cpu_seconds`, `tune_cpu_seconds` | of one fold, in the mean; the run's duration is the sum over the folds |
"""


def describe(client: mlflow.MlflowClient, experiment: str, tags: Mapping[str, str]) -> None:
    """Give the experiment its note and views, once: what someone writes there later stays."""
    if NOTE in tags:
        return
    client.set_experiment_tag(experiment, KIND, "custom_model_development")
    for name, tag, title in (
        (BY_DATASET, "dataset", "Models of each set"),
        (BY_MODEL, "model", "Models over the sets"),
    ):
        client.set_experiment_tag(experiment, VIEW + name, _view(title, tag))
    links = {"by_dataset": link(experiment, BY_DATASET), "by_model": link(experiment, BY_MODEL)}
    client.set_experiment_tag(
        experiment, NOTE, TEXT.format(**links, metrics=", ".join(f"`{name}`" for name in METRICS))
    )  # last: with it the page is done


def link(experiment: str, view: str) -> str:
    """Of a view, within the UI. The workflow type keeps MLflow from showing its pages for language models."""
    return f"#/experiments/{experiment}/runs?viewStateShareKey={view}&workflowType=machine_learning"


def _view(title: str, tag: str) -> str:
    state = {
        "searchFilter": "",
        "orderByKey": "metrics.`accuracy`",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": [f"metrics.`{name}`" for name in COLUMNS],
        "columnOrder": [],
        "columnWidths": {},
        "runsExpanded": {},
        "runsPinned": [],
        "runsHidden": [],
        "runsVisibilityMap": {},
        "runsHiddenMode": "SHOW_ALL",
        "viewMaximized": False,
        "runListHidden": False,
        "isAccordionReordered": False,
        "useGroupedValuesInCharts": True,
        "hideEmptyCharts": True,
        "groupBy": {"aggregateFunction": "average", "groupByKeys": [{"mode": "tag", "groupByData": tag}]},
        "groupsExpanded": {},
        "autoRefreshEnabled": True,
        "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
    }
    return json.dumps({"name": title, "createdAt": int(time.time() * 1000), "state": json.dumps(state)})
