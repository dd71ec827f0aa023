"""The runs inside a model's run: one per fold, and one per trial of the studies that tuned it.

MLflow's plots compare runs, not the steps of one: with a run per fold they draw boxes of the scores, and with a run per
trial they show which settings are good. A child has few tags, and not those by which the run of a model is found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mlflow
import numpy as np
import optuna
from mlflow.entities import Metric, Param, Run
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from ldep_pipeline.config.params import Tracking
from ldep_pipeline.fitting import models
from ldep_pipeline.fitting.specs import Classifier
from ldep_pipeline.fitting.study import COST, StudyTask, finished_trials, open_study
from ldep_pipeline.tracking import experiment_page, run_content, runs
from ldep_pipeline.tracking.run_content import RunRecord
from ldep_pipeline.tracking.runs import CHOSEN, CLASSIFIER, DATASET, FOLD, INNER_SCORE, KIND, OWNER, TRIAL, YES

STATES = {"COMPLETE": "complete", "PRUNED": "abandoned", "FAIL": "failed"}


@dataclass(frozen=True)
class ChildRun:
    """`start` and `seconds` count from the beginning of the model's run."""

    name: str
    kind: str
    start: float
    seconds: float
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str] = field(default_factory=dict)
    has_failed: bool = False


def of_model(record: RunRecord, tracking: Tracking) -> list[ChildRun]:
    return [*(folds(record) if tracking.folds else []), *trials(record, tracking)]


def write(client: mlflow.MlflowClient, parent: Run, owner: str, dataset: str, children: Sequence[ChildRun]) -> None:
    """Write the children of a run: three requests for each."""
    began, experiment = parent.info.start_time, parent.info.experiment_id
    for child in children:
        tags = {
            MLFLOW_PARENT_RUN_ID: parent.info.run_id,
            KIND: child.kind,
            DATASET: dataset,
            OWNER: owner,
            **child.tags,
        }
        start = began + int(1000 * child.start)
        run_id = client.create_run(experiment, start, tags, child.name).info.run_id
        values = [Metric(name, value, start, 0) for name, value in child.metrics.items()]
        parameters = [Param(name, text[: run_content.LONGEST]) for name, text in child.parameters.items()]
        client.log_batch(run_id, metrics=values, params=parameters)
        status = runs.FAILED if child.has_failed else runs.FINISHED
        client.set_terminated(run_id, status, start + int(1000 * child.seconds))


def children_of(client: mlflow.MlflowClient, experiment: str, run_id: str) -> list[Run]:
    return runs.search(client, experiment, f"tags.`{MLFLOW_PARENT_RUN_ID}` = '{run_id}'")


def folds(record: RunRecord) -> Iterator[ChildRun]:
    """The fit of each fold: its settings and its numbers."""
    start = 0.0
    for fold, fit in sorted(record.folds.items()):
        seconds = run_content.seconds_of(fit)
        settings = {name: run_content.text(run_content.short(value)) for name, value in fit["settings"].items()}
        yield ChildRun(
            name=f"fold {fold}",
            kind=FOLD,
            start=start,
            seconds=seconds,
            parameters={CLASSIFIER: record.model, FOLD: str(fold), **settings},
            metrics=run_content.numbers_of(fit),
            has_failed=fit["status"] == "failed",
        )
        start += seconds


def trials(record: RunRecord, tracking: Tracking) -> Iterator[ChildRun]:
    """The trials of the model's studies: those of the first fold, or of all folds."""
    start = 0.0
    for task in studies(record, tracking):
        tuning = record.folds[task.fold or 0]["tuning"]
        chosen_is_open = True
        study = open_study(task.journal, task.metric)
        for number, trial in enumerate(finished_trials(study)[: tuning.get("trials")]):
            settings = models.from_trial(trial.params, task.entry.search)
            is_complete = trial.state == optuna.trial.TrialState.COMPLETE
            is_chosen = chosen_is_open and is_complete and settings == tuning.get("chosen")
            chosen_is_open = chosen_is_open and not is_chosen
            scores = list(trial.intermediate_values.values())
            seconds = float(trial.user_attrs.get(COST, (0.0, 0.0))[0])
            yield ChildRun(
                name=f"fold {task.fold}, trial {number}",
                kind=TRIAL,
                start=start,
                seconds=seconds,
                parameters={FOLD: str(task.fold), **_as_parameters(settings, task.entry)},
                metrics={
                    **({INNER_SCORE: float(np.mean(scores))} if scores else {}),
                    "inner_folds": len(scores),
                    "seconds": seconds,
                },
                tags={"state": STATES[trial.state.name], **({CHOSEN: YES} if is_chosen else {})},
                has_failed=trial.state == optuna.trial.TrialState.FAIL,
            )
            start += seconds


def studies(record: RunRecord, tracking: Tracking) -> list[StudyTask]:
    """The studies whose trials are tracked with this model. An ensemble may run without the model that it tunes."""
    if tracking.trials == "none":
        return []
    plan = record.plan
    found = [task for study, task in sorted(plan.studies.items()) if plan.shown_as(study) == record.model]
    found = [task for task in found if task.journal.is_file()]
    return found[:1] if tracking.trials == "first" else found


def _as_parameters(settings: dict[str, Any], entry: Classifier) -> dict[str, str]:
    """The settings as text; beside a number that is searched over decades its logarithm, for plots."""
    parameters = {name: run_content.text(value) for name, value in settings.items()}
    for name, space in entry.search.items():
        if experiment_page.spans_decades(space):
            parameters[experiment_page.log_name(name)] = f"{math.log10(settings[name]):.4g}"
    return parameters
