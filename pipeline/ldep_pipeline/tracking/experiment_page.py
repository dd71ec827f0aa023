"""What a person sees first in the MLflow UI: the experiment's note, and the views of its runs.

Two views show the runs of all data sets, sorted by `score`: the mean of the metric that decides on the data set, with
the sign by which more is better. So every data set follows its own metric. Each data set has a view of its own, sorted
by that metric itself, and each tuned model a view that draws its trials.
"""

from __future__ import annotations

from collections.abc import Mapping

import mlflow

from ldep_pipeline.compat import mlflow_ui
from ldep_pipeline.compat.mlflow_ui import Axis, View
from ldep_pipeline.fitting.specs import Space
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.tracking.runs import (
    CHOSEN,
    CLASSIFIER,
    DATASET,
    FOLD,
    INNER_SCORE,
    KIND,
    METRIC,
    MODEL,
    SCORE,
    WINNER,
)

NOTE = "mlflow.note.content"
BY_DATASET, BY_MODEL = "by-dataset", "by-model"
TIMES = ("tune_cpu_seconds", "fit_cpu_seconds")
MODELS_ONLY = f"tags.{MODEL} LIKE '%'"  # neither their folds nor their trials
DECADES = 100.0  # between the ends of a range whose parameter is drawn by its logarithm
MOST_PARAMETERS = 4  # of a study, in charts of two axes
TEXT = """\
A run is **one model on one data set**, cross-validated: `banana · ldep`. Its page says what was measured and chosen.

| look at | to see |
| --- | --- |
| [the models of each data set]({by_dataset}) | runs grouped by data set, the best first; `winner`: the registered one |
| [each model over the data sets]({by_model}) | runs grouped by model, with the mean of the group |
| *Views* | for each data set its models by its own metric, with charts that compare them, and its folds |
| the page of a tuned model | a link to charts of its trials: which settings are good |
| [registered models](#/models) | the best model of each data set, ready to serve |

To compare runs, tick them and press *Compare*. In its plots the parameter `classifier` is the model.

| metric | meaning |
| --- | --- |
| `score` | the mean of the metric that decides on the data set; its negative if less is better |
| {metrics} | mean over the test folds, rounded; `f1_micro` = `accuracy` |
| `..._std` | sample deviation over the folds |
| `fold/...` | the value of each fold: the step is the fold |
| `curve/objective` | training of fold 0: the step is the iteration |
| `fit_cpu_seconds`, `tune_cpu_seconds` | mean over the folds; the run's duration is the sum over the folds |

Inside a run are runs of its folds (`fold 0`), and of the trials that tuned it (`fold 0, trial 7`).
"""


def describe(client: mlflow.MlflowClient, experiment: str, tags: Mapping[str, str]) -> None:
    """Give the experiment its views, and once its note: one that somebody edits later stays."""
    shown = [SCORE, "accuracy", *TIMES]
    flags = [f"tags.`{WINNER}`", f"tags.`{METRIC}`"]
    views = {
        # The row of a data set shows its best model, the row of a model its mean over the data sets.
        BY_DATASET: View("Models of each data set", MODELS_ONLY, shown, False, flags, mlflow_ui.Group(DATASET, "max")),
        BY_MODEL: View(
            "Models over the data sets", MODELS_ONLY, shown, False, flags, mlflow_ui.Group(MODEL, "average")
        ),
    }
    _save(client, experiment, tags, views)
    if NOTE in tags:
        return
    client.set_experiment_tag(experiment, mlflow_ui.KIND, mlflow_ui.KIND_OF_TRAINING)
    note = TEXT.format(
        by_dataset=mlflow_ui.link(experiment, BY_DATASET),
        by_model=mlflow_ui.link(experiment, BY_MODEL),
        metrics=", ".join(f"`{name}`" for name in METRICS),
    )
    client.set_experiment_tag(experiment, NOTE, note)  # last: the note marks the page as complete


def describe_dataset(client: mlflow.MlflowClient, experiment: str, dataset: str, metric: str) -> None:
    """Give a data set its views: its models by the metric that decides on it, and their folds."""
    shown, ascending = dataset_metrics(metric), not METRICS[metric].higher_is_better
    ours = f"tags.{DATASET} = '{dataset}'"
    views = {
        view_of_models(dataset): View(
            f"{dataset}: models by {metric}",
            f"{ours} and {MODELS_ONLY}",
            shown,
            ascending,
            [f"tags.`{WINNER}`"],
            charts={
                "Scores": [mlflow_ui.scatter(Axis("fit_cpu_seconds"), Axis(metric)), mlflow_ui.steps(f"fold/{metric}")],
                "Side by side": [mlflow_ui.differences()],
            },
        ),
        view_of_folds(dataset): View(
            f"{dataset}: folds of its models",
            f"{ours} and tags.`{KIND}` = '{FOLD}'",
            [metric, "fit_cpu_seconds"],
            ascending,
            [f"params.`{CLASSIFIER}`"],
        ),
    }
    _save(client, experiment, client.get_experiment(experiment).tags, views)


def describe_trials(
    client: mlflow.MlflowClient, experiment: str, run_id: str, view: str, search: Mapping[str, Space], metric: str
) -> None:
    """Give a tuned model's run the charts of its trials."""
    names = axes(search)
    numbers = [name for name in names if not _has_words(search, name)][:MOST_PARAMETERS]
    score = Axis(INNER_SCORE)
    pairs = []
    if len(numbers) > 1:
        x, y = (Axis(name, is_parameter=True) for name in numbers[:2])
        pairs.append(mlflow_ui.contour(x, y, score))
    pairs += [mlflow_ui.scatter(Axis(name, is_parameter=True), score) for name in numbers]
    charts = {"Trials": [mlflow_ui.parallel_coordinates(names, INNER_SCORE)]} | ({"Parameters": pairs} if pairs else {})
    where = f"tags.`mlflow.parentRunId` = '{run_id}' and tags.`{KIND}` = 'trial'"
    ascending = not METRICS[metric].higher_is_better
    shown = View(
        "",
        where,
        [INNER_SCORE],
        ascending,
        [f"tags.`{CHOSEN}`", *(f"params.`{name}`" for name in search)],
        charts=charts,
    )
    client.set_experiment_tag(experiment, mlflow_ui.VIEW + view, shown.text())


def dataset_metrics(metric: str) -> list[str]:
    """The metrics in the view of a data set: few of them, the one that decides first."""
    return list(dict.fromkeys([metric, f"{metric}_std", "accuracy", *TIMES]))


def view_of_models(dataset: str) -> str:
    return f"models.{dataset}"


def view_of_folds(dataset: str) -> str:
    return f"folds.{dataset}"


def view_of_trials(dataset: str, model: str) -> str:
    return f"trials.{dataset}.{model}"


def axes(search: Mapping[str, Space]) -> list[str]:
    """The parameters of a trial as its charts show them: of one that is searched over decades, the logarithm."""
    shown = [log_name(name) if spans_decades(space) else name for name, space in search.items()]
    # Words come last: beside the metric they would hide its colours.
    return sorted(shown, key=lambda name: _has_words(search, name))


def spans_decades(space: Space) -> bool:
    """Whether only the logarithm of a parameter can be read from an axis."""
    return space.log and space.high is not None and space.low is not None and space.high >= DECADES * space.low


def log_name(parameter: str) -> str:
    return f"log10_{parameter}"


def _has_words(search: Mapping[str, Space], axis: str) -> bool:
    """Whether not every value on an axis is a number."""
    space = search.get(axis)
    choices = space.choices if space is not None else None
    return choices is not None and not all(
        isinstance(choice, (int, float)) and not isinstance(choice, bool) for choice in choices
    )


def _save(client: mlflow.MlflowClient, experiment: str, tags: Mapping[str, str], views: Mapping[str, View]) -> None:
    for name, view in views.items():
        if not view.is_saved_as(tags.get(mlflow_ui.VIEW + name)):
            client.set_experiment_tag(experiment, mlflow_ui.VIEW + name, view.text())
