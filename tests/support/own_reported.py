"""The page data of one data set, made by hand or at random: any number of classes, any metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.report.groups import Group, GroupedColumn, Recourse
from ldep_pipeline.report.report_data import DatasetReport

ACCURACY, LOG_LOSS = METRICS["accuracy"], METRICS["log_loss"]
FOLDS = 5


def results(values: dict[str, list[float | None]], metric: str = "accuracy") -> pd.DataFrame:
    """A tidy table; None is a failed fit, NaN a metric that the model lacks."""
    rows = []
    for model, folds in values.items():
        for fold, value in enumerate(folds):
            rows.append(
                {
                    "dataset": "mine",
                    "model": model,
                    "fold": fold,
                    "metric": metric,
                    "value": value,
                    "fit_cpu_seconds": 0.5,
                    "tune_cpu_seconds": 0.0,
                    "status": "failed" if value is None else "ok",
                    "message": "no luck" if value is None else "",
                }
            )
    return pd.DataFrame(rows).astype({"value": "float64"})


def report(values: dict[str, list[float | None]], n_classes: int = 2, **fields: Any) -> DatasetReport:
    """A report whose models have random scores that favour the true class."""
    rng = np.random.default_rng(0)
    names = [f"<{letter}>" for letter in "abcdefghijklmnopqrstuvwxyz"[:n_classes]]
    truth = rng.choice(n_classes, size=300, p=_shares(n_classes))
    scores = rng.normal(size=(300, n_classes))
    scores[np.arange(300), truth] += 1.5
    if n_classes == 2:
        scores -= scores.mean(axis=1, keepdims=True)
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    metric = fields.pop("metric", ACCURACY)
    settings: dict[str, Any] = {
        "name": "mine",
        "origin": "own file my.csv",
        "target": "label",
        "metric": metric,
        "results": results(values, metric.name),
        "split": "5-fold cross-validation",
        "test_share": 0.25,
        "n_features": 3,
        "classes": {name: int(np.sum(truth == place)) for place, name in enumerate(names)},
        "y": np.array(names)[truth],
        "scores": dict.fromkeys(values, scores),
        "probabilities": dict.fromkeys(values, probabilities),
    }
    return DatasetReport(**{**settings, **fields})


def record(**fields: Any) -> dict[str, Any]:
    """What the stage register writes, with an examination."""
    row = {
        "row": 4,
        "truth": "<a>",
        "predicted": "<b>",
        "rival": "<a>",
        "margin": 0.8,
        "start": -0.5,
        "columns": [
            {"column": "size", "value": "3.5", "part": 1.5},
            {"column": "<b>colour</b>", "value": "a very long value that has no room", "part": -0.25},
        ],
        "rest": 0.05,
    }
    return {
        "model": "ldep",
        "metric": "accuracy",
        "metrics": {"accuracy": 0.9},
        "registered": "ldep-mine",
        "version": 2,
        "decision": "champion",
        "why": "it is better",
        "settings": {"r1": 3},
        "examination": {
            "problems": [],
            "learning_curve": [
                {"rows": 24, "scores": [0.68, 0.7, 0.72, 0.7, 0.7]},
                {"rows": 72, "scores": [0.79, 0.8, 0.81, 0.8, 0.8]},
                {"rows": 240, "scores": [0.9, 0.91, 0.9, 0.89, 0.9]},
            ],
            "importance": {"method": "shares", "rows": 60, "columns": {"size": 0.7, "<b>colour</b>": 0.3}},
            "rows": {"exact": True, "typical": [{**row, "truth": "<b>"}], "wrong": [row]},
        },
    } | fields


def sets(n_classes: int = 2) -> dict[str, dict[float, np.ndarray]]:
    """Prediction sets of the 300 rows of a report, by the ℓ-DEP."""
    rng = np.random.default_rng(0)
    return {"ldep": {coverage: rng.random((300, n_classes)) < coverage for coverage in (0.8, 0.9, 0.95)}}


def grouped(n_classes: int = 2) -> GroupedColumn:
    """A column with a group that has numbers, and one that has none."""
    recourse = {"<a>": Recourse(1.25, (1.0, 1.5), 12)}
    shares = (0.4, 0.3, (0.2, 0.4)) if n_classes == 2 else (None, None, None)
    return GroupedColumn("<region>", [Group("<north>", 120, 0.9, (0.85, 0.95), *shares, recourse)], {"islands": 5})


def _shares(n_classes: int) -> np.ndarray:
    shares = np.arange(n_classes, 0, -1, dtype=float)
    return shares / shares.sum()
