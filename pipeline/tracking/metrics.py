"""The numbers of a run: MLflow metrics."""

from __future__ import annotations

import time

import numpy as np
from mlflow.entities import Metric

from pipeline.tracking.run_record import RunRecord

DECIMALS = 4
RECORDED = ("fit_seconds", "fit_cpu_seconds", "predict_seconds", "objective", "iterations")


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
    return logged


def _rounded(value: np.floating) -> float:
    """As columns of the UI show it. The values of the folds, and results.csv, have every digit."""
    return round(float(value), DECIMALS)


def _values(record: RunRecord) -> dict[str, dict[int, float]]:
    """{metric: {fold: value}}, without what a fold has no value of."""
    values: dict[str, dict[int, float]] = {}
    for fold, fit in sorted(record.folds.items()):
        numbers = {
            **fit.get("metrics", {}),
            **{name: fit.get(name) for name in RECORDED},
            "tune_seconds": fit["tuning"].get("seconds"),
            "tune_cpu_seconds": fit["tuning"].get("cpu_seconds"),
        }
        for name, value in numbers.items():
            if value is not None:
                values.setdefault(name, {})[fold] = float(value)
    if "accuracy" in values:
        values["f1_micro"] = values["accuracy"]  # the paper's name of it
    return values
