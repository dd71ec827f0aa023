"""What the run of one model on one data set contains, but for its files: settings, numbers, input and description."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import numpy as np
from mlflow.data.pandas_dataset import from_pandas
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param

from ldep_pipeline.data.stage_files import Provenance
from ldep_pipeline.execution.plan import TrainingPlan
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.tracking.runs import CLASSIFIER, SCORE

LONGEST = 6000  # characters that MLflow stores of a parameter
DECIMALS = 4
RECORDED = ("fit_seconds", "fit_cpu_seconds", "predict_seconds", "objective", "iterations")
SOURCE_FIELDS = ("source", "openml_id", "md5", "file", "package_version")
EXAMPLE_ROWS = 5
DIGITS = 8  # of the digest, as in MLflow's own: the runs page shows it beside the name
Folds = dict[int, dict[str, Any]]
"""The record of each fit, by fold."""


@dataclass(frozen=True)
class RunRecord:
    plan: TrainingPlan
    model: str
    folds: Folds
    rows: TrainingData
    provenance: Provenance

    @property
    def dataset(self) -> str:
        return self.plan.dataset

    @property
    def title(self) -> str:
        return f"{self.dataset} · {self.model}"

    @property
    def successful(self) -> list[dict[str, Any]]:
        """The records of the folds that did not fail, in their order."""
        return [record for _, record in sorted(self.folds.items()) if record["status"] != "failed"]

    @property
    def has_failed(self) -> bool:
        return len(self.successful) < len(self.folds)

    @property
    def seconds(self) -> float:
        """The time of tuning, fitting and predicting, summed over the folds."""
        return sum(seconds_of(fit) for fit in self.folds.values())

    @property
    def score(self) -> float | None:
        """The mean of the metric that decides, with the sign by which more is better; None if a fold has no value."""
        metric = self.plan.metric
        found = [fit["metrics"].get(metric) for fit in self.successful]
        values = [value for value in found if value is not None]
        return score(metric, float(np.mean(values))) if values else None


def score(metric: str, value: float) -> float:
    """A value of a metric, with the sign by which more is better."""
    return value if METRICS[metric].higher_is_better else -value


def seconds_of(fit: dict[str, Any]) -> float:
    """The time of tuning, fitting and predicting of one fold."""
    times = fit["tuning"].get("seconds"), fit.get("fit_seconds"), fit.get("predict_seconds")
    return float(sum(filter(None, times)))


def parameters(record: RunRecord) -> list[Param]:
    """One parameter per setting; where the folds chose different values, one of these: see `typical`.

    `classifier` and `dataset` tell the runs apart on the compare page. That page shows the first three parameters, in
    alphabetical order, in which the runs differ: hence `classifier`, not `model`.
    """
    values = {CLASSIFIER: record.model, "dataset": record.dataset}
    folds = [fit["settings"] for _, fit in sorted(record.folds.items())]
    for name in sorted({name for settings in folds for name in settings}):
        values[name] = text(typical([short(settings[name]) for settings in folds if name in settings]))
    trials = [fold["tuning"].get("trials") for fold in record.folds.values() if fold["tuning"]]
    if trials:
        values["tuning_trials"] = str(sum(filter(None, trials)))
    return [Param(name, text[:LONGEST]) for name, text in values.items()]


def typical(values: Sequence[Any]) -> Any:
    """One value for a setting that each fold chose for itself, so that plots have a number and not a list of them.

    Of numbers their median, the lower one of two, which some fold has chosen whatever the scale of the parameter; of
    anything else the most frequent value, of equally frequent ones the first.
    """
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return median_low(values)
    texts = [text(value) for value in values]
    return values[max(range(len(texts)), key=lambda place: texts.count(texts[place]))]


def settings_table(record: RunRecord) -> dict[str, list[Any]]:
    """One row per fold: its value of the metric that decides, its seconds, and its settings. {column: cells}"""
    folds = sorted(record.folds.items())
    names = sorted({name for _, fit in folds for name in fit["settings"]})
    metric = record.plan.metric
    return {
        "fold": [fold for fold, _ in folds],
        metric: [fit.get("metrics", {}).get(metric) for _, fit in folds],
        "fit_seconds": [fit.get("fit_seconds") for _, fit in folds],
        "tuning_trials": [fit["tuning"].get("trials") for _, fit in folds],
        **{name: [_cell(fit["settings"].get(name)) for _, fit in folds] for name in names},
    }


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else json.dumps(value)


def by_name(folds: Folds) -> dict[str, list[str]]:
    """The text of each setting in each fold. Numbers that differ between the folds are shown with four digits."""
    texts = {}
    for name in sorted({name for record in folds.values() for name in record["settings"]}):
        values = [record["settings"].get(name) for _, record in sorted(folds.items())]
        differ = any(value != values[0] for value in values)
        texts[name] = [text(value, rounded=differ) for value in values]
    return texts


def short(value: Any) -> Any:
    """A setting as it is compared: of an ensemble's members, their number."""
    return len(value) if isinstance(value, list) and value and isinstance(value[0], dict) else value


def text(value: Any, rounded: bool = False) -> str:
    """A setting as text; a number parses as one."""
    if rounded and isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value)


def metrics(record: RunRecord, model_id: str | None) -> list[Metric]:
    """Mean and sample deviation of each number, its value in each fold, and the convergence curve of fold 0."""
    now = int(time.time() * 1000)
    logged: list[Metric] = []
    for name, by_fold in _values(record).items():
        values = list(by_fold.values())
        logged.append(Metric(name, _rounded(np.mean(values)), now, 0, model_id=model_id))
        if len(values) > 1:
            logged.append(Metric(f"{name}_std", _rounded(np.std(values, ddof=1)), now, 0))
        logged += [Metric(f"fold/{name}", value, now, fold) for fold, value in by_fold.items()]
    curve = record.folds[0].get("curve", {"iteration": [], "objective": []})
    logged += [Metric("curve/objective", v, now, step) for step, v in zip(curve["iteration"], curve["objective"])]
    logged.append(Metric("failed_folds", len(record.folds) - len(record.successful), now, 0))
    if record.score is not None:
        logged.append(Metric(SCORE, _rounded(record.score), now, 0))
    return logged


def _rounded(value: float | np.floating) -> float:
    """As columns of the UI show it. The values of the folds, and results.csv, have every digit."""
    return round(float(value), DECIMALS)


def _values(record: RunRecord) -> dict[str, dict[int, float]]:
    """{metric: {fold: value}}, without what a fold has no value of."""
    values: dict[str, dict[int, float]] = {}
    for fold, fit in sorted(record.folds.items()):
        for name, value in numbers_of(fit).items():
            values.setdefault(name, {})[fold] = value
    if "accuracy" in values:
        values["f1_micro"] = values["accuracy"]  # the paper's name of it
    return values


def numbers_of(fit: dict[str, Any]) -> dict[str, float]:
    """The metrics of one fold and what else was measured, without what has no value."""
    numbers = {
        **fit.get("metrics", {}),
        **{name: fit.get(name) for name in RECORDED},
        "tune_seconds": fit["tuning"].get("seconds"),
        "tune_cpu_seconds": fit["tuning"].get("cpu_seconds"),
    }
    return {name: float(value) for name, value in numbers.items() if value is not None}


def dataset_input(plan: TrainingPlan, rows: TrainingData, provenance: Provenance) -> DatasetInput:
    """The data set as the input of its runs."""
    source = {name: value for name, value in provenance.to_json().items() if name in SOURCE_FIELDS}
    # MLflow would read all rows to describe them. Its schema needs a few, and the shape is known.
    schema = from_pandas(rows.frame(slice(EXAMPLE_ROWS))).to_dict()["schema"]
    profile = json.dumps({"num_rows": rows.X.shape[0], "num_elements": rows.X.size})
    dataset = Dataset(plan.dataset, plan.data_digest[:DIGITS], "local", json.dumps(source), schema, profile)
    return DatasetInput(dataset, [InputTag("mlflow.data.context", "cross-validation")])


def description(record: RunRecord, links: Mapping[str, str]) -> str:
    """The text on the page of a run. links: {text: address} of pages that compare it, or what is inside it."""
    rows, features = record.rows.X.shape
    paragraphs = [
        # First, because the UI folds a long text.
        " · ".join(f"[{name}]({address})" for name, address in links.items()),
        f"**{record.model}** on **{record.dataset}** ({rows:,} rows, {features} features, from "
        f"{record.provenance.source}), {record.plan.partition.in_words()}.",
    ]
    name = record.plan.metric
    summaries = [_summary(record, metric) for metric in dict.fromkeys([name, "accuracy"])]
    if any(summaries):
        paragraphs.append(f"{', '.join(filter(None, summaries))}: mean and sample deviation over the folds.")
    for fold, fit in sorted(record.folds.items()):
        if fit["status"] != "ok":
            paragraphs.append(f"Fold {fold} {fit['status']}: {fit['message']}")
    paragraphs += [
        _fold_table(record.folds, name),
        "*Model metrics*: `fold/...` has one step per fold; `curve/objective` shows the training of fold 0, one step "
        "per iteration. *Artifacts*: `settings.json` has the settings of each fold as a table; `confusion.png` counts "
        "the errors of all test folds; `roc.png` and `precision_recall.png` show the curves of each fold or class.",
    ]
    return "\n\n".join(paragraphs)


def _summary(record: RunRecord, name: str) -> str:
    values = [value for fit in record.successful if (value := fit["metrics"].get(name)) is not None]
    if not values:
        return ""
    metric = METRICS[name]
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return f"`{name}` **{metric.text(float(np.mean(values)), deviation)}{' %' if metric.is_share else ''}**"


def _fold_table(folds: Folds, metric: str) -> str:
    """One row per fold: its value of the metric, its seconds, and the settings in which the folds differ."""
    texts = by_name(folds)
    differing = [name for name, values in texts.items() if len(set(values)) > 1]
    head = ["fold", f"`{metric}`", "fit, s", *(f"`{name}`" for name in differing)]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for place, (fold, fit) in enumerate(sorted(folds.items())):
        value = fit.get("metrics", {}).get(metric)
        score = "failed" if fit["status"] == "failed" else "" if value is None else f"{value:.4f}"
        seconds = f"{fit['fit_seconds']:.2f}" if fit.get("fit_seconds") is not None else ""
        cells = [str(fold), score, seconds, *(texts[name][place] for name in differing)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
