"""What a person sees first in the MLflow UI: the experiment's note, and two views that group its runs."""

from __future__ import annotations

from collections.abc import Mapping

import mlflow

from ldep_pipeline.compat import mlflow_ui
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.tracking.runs import DATASET, MODEL, WINNER

NOTE = "mlflow.note.content"
BY_DATASET, BY_MODEL = "by-dataset", "by-model"
SORTED_BY = "ldep.metric"  # a tag of the experiment: the metric by which its views are sorted
DEFAULT = "accuracy"
TEXT = """\
A run is **one model on one data set**, cross-validated: `banana · ldep`. Its page says what was measured and chosen.

| look at | to see |
| --- | --- |
| [the models of each data set]({by_dataset}) | runs grouped by data set, the best first; `winner`: the registered one |
| [each model over the data sets]({by_model}) | runs grouped by model, with the mean of the group |
| [registered models](#/models) | the best model of each data set, ready to serve |

To compare runs, tick them and press *Compare*. In its plots the parameter `classifier` is the model.

| metric | meaning |
| --- | --- |
| {metrics} | mean over the test folds, rounded; `f1_micro` = `accuracy` |
| `..._std` | sample deviation over the folds |
| `fold/...` | the value of each fold: the step is the fold |
| `curve/objective` | training of fold 0: the step is the iteration |
| `fit_cpu_seconds`, `tune_cpu_seconds` | mean over the folds; the run's duration is the sum over the folds |
"""


def describe(client: mlflow.MlflowClient, experiment: str, tags: Mapping[str, str], metric: str | None = None) -> None:
    """Give the experiment its views, sorted by the metric, and once its note: one that somebody edits later stays."""
    wanted = metric or tags.get(SORTED_BY, DEFAULT)
    if tags.get(SORTED_BY) != wanted:
        _write_views(client, experiment, wanted)
        client.set_experiment_tag(experiment, SORTED_BY, wanted)
    if NOTE in tags:
        return
    client.set_experiment_tag(experiment, mlflow_ui.KIND, mlflow_ui.KIND_OF_TRAINING)
    note = TEXT.format(
        by_dataset=mlflow_ui.link(experiment, BY_DATASET),
        by_model=mlflow_ui.link(experiment, BY_MODEL),
        metrics=", ".join(f"`{name}`" for name in METRICS),
    )
    client.set_experiment_tag(experiment, NOTE, note)  # last: the note marks the page as complete


def shown_metrics(metric: str) -> list[str]:
    """The metrics of a view: few of them, the one that decides first."""
    return list(dict.fromkeys([metric, f"{metric}_std", DEFAULT, "tune_cpu_seconds", "fit_cpu_seconds"]))


def _write_views(client: mlflow.MlflowClient, experiment: str, metric: str) -> None:
    ascending, shown = not METRICS[metric].higher_is_better, shown_metrics(metric)
    best = "min" if ascending else "max"
    # The row of a data set shows its best model, the row of a model its mean over the data sets.
    views = {
        BY_DATASET: mlflow_ui.GroupedView("Models of each data set", DATASET, WINNER, shown, ascending, best),
        BY_MODEL: mlflow_ui.GroupedView("Models over the data sets", MODEL, WINNER, shown, ascending, "average"),
    }
    for name, view in views.items():
        client.set_experiment_tag(experiment, mlflow_ui.VIEW + name, view.text())
