"""Results as train writes them, made by hand, so that every number of a report is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.config import params
from pipeline.execution import manifest
from pipeline.execution.results import COLUMNS
from pipeline.fitting.metrics import METRICS


def write(root: Path, name: str, accuracies: dict[str, list[float | None]], **columns: dict[str, Any]) -> None:
    """A table with these accuracies (None: the fold failed), and curves. columns: {column: {model: value}}."""
    rows = []
    for model, folds in accuracies.items():
        for fold, value in enumerate(folds):
            shared = {
                "dataset": name, "model": model, "fold": fold, "fit_seconds": 0.5, "fit_cpu_seconds": 0.25,
                "predict_seconds": 0.01, "tune_seconds": 0.0, "tune_cpu_seconds": 0.0, "trials": 0, "objective": None,
                "iterations": 7, "solver": "", "settings": "{}", "source": "file",
                "status": "failed" if value is None else "ok", "message": "no luck" if value is None else "",
                **{column: held[model] for column, held in columns.items() if model in held},
            }  # fmt: skip
            rows += [{**shared, "metric": metric, "value": value} for metric in METRICS]
    folder = root / "results" / name
    folder.mkdir(parents=True)
    table = pd.DataFrame(rows, columns=COLUMNS).astype({"iterations": "Int64"})
    table.to_csv(folder / "results.csv", index=False, lineterminator="\n")
    curves = [(next(iter(accuracies)), 0, step, 8.0 / step) for step in (1, 2, 4)]
    pd.DataFrame(curves, columns=["model", "fold", "iteration", "objective"]).to_csv(folder / "curves.csv", index=False)
    manifest.write(folder, root / "data", dict.fromkeys(accuracies, ""))


def project(root: Path) -> params.Params:
    """Two sets of the paper and one of the user's, four models, one of them failed on a set and not run on another."""
    tuned = json.dumps({"r1": 10, "r2": 5, "alpha": 1.0})
    committee = json.dumps({"cv": 5, "estimator": {"class": "ldep.LDEPClassifier", "params": json.loads(tuned)}})
    studied = {
        "settings": {"ldep": tuned, "ldep_committee": committee},
        "tune_cpu_seconds": {"ldep": 30.0, "ldep_committee": 30.0},
        "trials": {"ldep": 24, "ldep_committee": 24},
    }
    write(root, "haberman", {"ldep": [0.75, 0.77], "ldep_committee": [0.76, 0.78], "rbf_svc": [0.72, 0.74],
                             "<odd> & own": [0.5, None]}, **studied)  # fmt: skip
    write(root, "wdbc", {"ldep": [0.97, 0.99], "ldep_committee": [0.98, 1.0], "rbf_svc": [0.97, 0.98]}, **studied)
    write(root, "mine", {"ldep": [0.6, 0.8], "ldep_committee": [0.6, 0.8], "rbf_svc": [0.5, 0.7],
                         "<odd> & own": [0.9, 0.9]}, **studied)  # fmt: skip
    (root / "data/provenance").mkdir(parents=True)
    record = {"source": "file", "file": "my.csv", "rows": 10, "classes": {"a": 4, "b": 6}, "time": "2026-01-01"}
    (root / "data/provenance/mine.json").write_text(json.dumps(record))
    (root / "registry").mkdir()
    decision = {"dataset": "mine", "model": "<odd> & own", "metric": "accuracy", "metrics": {"accuracy": 0.9},
                "registered": "ldep-mine", "version": 3, "decision": "challenger", "why": "not better",
                "settings": {}}  # fmt: skip
    (root / "registry/mine.json").write_text(json.dumps(decision))
    return params.check({
        "datasets": ["haberman", "wdbc", "mine"],
        "own_data": {"mine": {"path": "my.csv", "target": "y"}},
        "tracking": {"enabled": False},
    })  # fmt: skip
