"""What a person sees first in the MLflow UI: the experiment's note, and two views that group its runs."""

from __future__ import annotations

from collections.abc import Mapping

import mlflow

from pipeline.compat import mlflow_ui
from pipeline.fitting.metrics import METRICS
from pipeline.tracking.tags import DATASET, MODEL

NOTE = "mlflow.note.content"
BY_DATASET, BY_MODEL = "by-dataset", "by-model"
COLUMNS = ("accuracy", "accuracy_std", *list(METRICS)[1:], "tune_cpu_seconds", "fit_cpu_seconds")
TEXT = """\
A run is **one model on one data set**, cross-validated: `banana · ldep`. Its page says what was measured and chosen.

| look at | to see |
| --- | --- |
| [the models of each data set]({by_dataset}) | runs grouped by data set, the best first |
| [each model over the data sets]({by_model}) | runs grouped by model, with the mean of the group |
| [registered models](#/models) | the best model of each data set, ready to serve |

To compare runs, tick them and press *Compare*. In its plots the parameter `classifier` is the model.

| metric | meaning |
| --- | --- |
| {metrics} | mean over the test folds; `f1_micro` = `accuracy` |
| `..._std` | sample deviation over the folds |
| `fold/...` | the value of each fold: the step is the fold |
| `curve/objective` | training of fold 0: the step is the iteration |
| `fit_cpu_seconds`, `tune_cpu_seconds` | mean over the folds; the run's duration is the sum over the folds |
"""


def describe(client: mlflow.MlflowClient, experiment: str, tags: Mapping[str, str]) -> None:
    """Give the experiment its note and views, once: a note that somebody edits later stays."""
    if NOTE in tags:
        return
    client.set_experiment_tag(experiment, mlflow_ui.KIND, mlflow_ui.KIND_OF_TRAINING)
    views = ((BY_DATASET, DATASET, "Models of each data set"), (BY_MODEL, MODEL, "Models over the data sets"))
    for name, tag, title in views:
        client.set_experiment_tag(experiment, mlflow_ui.VIEW + name, mlflow_ui.grouped_view(title, tag, COLUMNS))
    note = TEXT.format(
        by_dataset=mlflow_ui.link(experiment, BY_DATASET),
        by_model=mlflow_ui.link(experiment, BY_MODEL),
        metrics=", ".join(f"`{name}`" for name in METRICS),
    )
    client.set_experiment_tag(experiment, NOTE, note)  # last: the note marks the page as complete
