"""Results made by hand, so that every number of a report is known: as a table, as report data, or as files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ldep_pipeline.config import params
from ldep_pipeline.execution.results import COLUMNS, CURVE_COLUMNS, input_digests, seal_folder
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.report import scores
from ldep_pipeline.report.report_data import DatasetInfo, ReportData

Folds = dict[str, list[float | None]]
"""{model: its accuracy on each fold, or None if the fit failed}"""

TUNED = {"r1": 10, "r2": 5, "alpha": 1.0}
# Two data sets of the paper and one of the user's. A model of the user's fails on one of them and lacks another.
EXAMPLE: dict[str, Folds] = {
    "haberman": {
        "ldep": [0.75, 0.77],
        "ldep_cv": [0.76, 0.78],
        "rbf_svc": [0.72, 0.74],
        "<odd> & own": [0.5, None],
    },
    "wdbc": {"ldep": [0.97, 0.99], "ldep_cv": [0.98, 1.0], "rbf_svc": [0.97, 0.98]},
    "mine": {"ldep": [0.6, 0.8], "ldep_cv": [0.6, 0.8], "rbf_svc": [0.5, 0.7], "<odd> & own": [0.9, 0.9]},
}
EXAMPLE_COLUMNS = {
    "settings": {"ldep": json.dumps(TUNED)},
    "tune_cpu_seconds": {"ldep": 30.0},
    "trials": {"ldep": 24},
}
# The same, with only data sets of the catalogue: their results share one page.
CATALOGUE_EXAMPLE = {"haberman": EXAMPLE["haberman"], "wdbc": EXAMPLE["wdbc"], "banana": EXAMPLE["mine"]}
DECISION = {
    "dataset": "banana",
    "model": "<odd> & own",
    "metric": "accuracy",
    "metrics": {"accuracy": 0.9},
    "registered": "ldep-banana",
    "version": 3,
    "decision": "challenger",
    "why": "not better",
    "settings": {},
}


def results(datasets: dict[str, Folds], **columns: dict[str, Any]) -> pd.DataFrame:
    """A tidy table with these accuracies. columns: {column: {model: value}}, where it is not the default."""
    rows = []
    for dataset, models in datasets.items():
        for model, folds in models.items():
            for fold, value in enumerate(folds):
                shared = {
                    "dataset": dataset,
                    "model": model,
                    "fold": fold,
                    "fit_seconds": 0.5,
                    "fit_cpu_seconds": 0.25,
                    "predict_seconds": 0.01,
                    "tune_seconds": 0.0,
                    "tune_cpu_seconds": 0.0,
                    "trials": 0,
                    "iterations": 7,
                    "solver": "",
                    "settings": "{}",
                    "source": "file",
                    "status": "failed" if value is None else "ok",
                    "message": "no luck" if value is None else "",
                }
                shared |= {column: values[model] for column, values in columns.items() if model in values}
                rows += [{**shared, "metric": metric, "value": value} for metric in METRICS]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"iterations": "Int64", "value": "float64"})


def with_metric(data: ReportData, metric: str, values: dict[str, float]) -> ReportData:
    """The same data with another value of one metric on every fold; models that are not named have none."""
    table = data.results.copy()
    of_metric = table["metric"] == metric
    table.loc[of_metric, "value"] = table.loc[of_metric, "model"].map(values)
    return replace(data, results=table)


def accuracies_of(datasets: dict[str, Folds], **columns: dict[str, Any]) -> scores.Scores:
    return scores.from_results(results(datasets, **columns))


def report_data(datasets: dict[str, Folds] = EXAMPLE, **columns: dict[str, Any]) -> ReportData:
    """What the stage would read for these accuracies; for the example with its tuned models."""
    if datasets is EXAMPLE:
        columns = {**EXAMPLE_COLUMNS, **columns}
    table = results(datasets, **columns)
    return ReportData(
        results=table,
        curves=pd.concat([curves(models).assign(dataset=dataset) for dataset, models in datasets.items()]),
        datasets={dataset: DatasetInfo("file my.csv", rows=10) for dataset in datasets},
    )


def curves(models: Folds) -> pd.DataFrame:
    """The objective of the first model on fold 0."""
    points = [(next(iter(models)), 0, step, 8.0 / step) for step in (1, 2, 4)]
    return pd.DataFrame(points, columns=CURVE_COLUMNS)


def write(root: Path, name: str, models: Folds, **columns: dict[str, Any]) -> None:
    """Write results/NAME as the stage train would."""
    folder = root / "results" / name
    folder.mkdir(parents=True)
    results({name: models}, **columns).to_csv(folder / "results.csv", index=False, lineterminator="\n")
    curves(models).to_csv(folder / "curves.csv", index=False)
    seal_folder(folder, input_digests(name, root / "data"), dict.fromkeys(models, ""))


def project(root: Path) -> params.Params:
    """Write the example with the records of the stages fetch and register; return its parameters."""
    for name, models in CATALOGUE_EXAMPLE.items():
        write(root, name, models, **EXAMPLE_COLUMNS)
    (root / "data/provenance").mkdir(parents=True)
    record = {"source": "file", "file": "my.csv", "rows": 10, "classes": {"a": 4, "b": 6}, "time": "2026-01-01"}
    (root / "data/provenance/banana.json").write_text(json.dumps(record))
    (root / "registry").mkdir()
    (root / "registry/banana.json").write_text(json.dumps(DECISION))
    return project_params(list(CATALOGUE_EXAMPLE))


def project_params(datasets: list[str]) -> params.Params:
    return params.check(
        {
            "datasets": datasets,
            "own_data": {"mine": {"path": "my.csv", "target": "y"}},
            "tracking": {"enabled": False},
        }
    )
