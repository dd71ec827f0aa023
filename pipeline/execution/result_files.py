"""What train writes: the tidy table, the files behind it, and the small files that DVC shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.common.files import replacing, write_json
from pipeline.config import paths
from pipeline.execution import manifest
from pipeline.execution.plan import Plan
from pipeline.execution.results import (
    BOUNDARIES,
    COLUMNS,
    CURVE_COLUMNS,
    CURVES,
    DECISIONS,
    TABLE,
    decision_columns,
    write_table,
)
from pipeline.fitting.fit import MODEL_FOLD
from pipeline.fitting.metrics import METRICS

Records = dict[tuple[str, int], dict[str, Any]]


def tidy(plan: Plan, records: Records, source: str) -> pd.DataFrame:
    """One row per model, fold and metric. A model that failed on a fold has its rows there too, without a value."""
    rows = []
    for model in plan.models:
        for fold in range(plan.folds):
            record = records[model, fold]
            tuning = record["tuning"]
            shared = {
                "dataset": plan.dataset,
                "model": model,
                "fold": fold,
                **{name: record.get(name) for name in ("fit_seconds", "fit_cpu_seconds", "predict_seconds")},
                "tune_seconds": tuning.get("seconds", 0.0),
                "tune_cpu_seconds": tuning.get("cpu_seconds", 0.0),
                "trials": tuning.get("trials", 0),
                "objective": record.get("objective"),
                "iterations": record.get("iterations"),
                "solver": record["solver"],
                "settings": json.dumps(record["settings"], sort_keys=True),
                "source": source,
                "status": record["status"],
                "message": "; ".join(filter(None, [tuning.get("message"), record["message"]])),
            }
            values = record.get("metrics", {})
            rows += [{**shared, "metric": metric, "value": values.get(metric)} for metric in METRICS]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"iterations": "Int64"})


def decision_table(plan: Plan, values: dict[tuple[str, int], np.ndarray], classes: Sequence[str]) -> pd.DataFrame:
    """One row per row of the data set, in its order; one column per model that has decision values in every fold.

    With more than two classes each model has one column per class, MODEL/CLASS. Each value comes from the fit of the
    first repeat that had not seen the row. It is NaN where no fold tests the row.
    """
    rows, first_repeat = len(plan.partition.test_fold), range(plan.partition.folds_per_repeat)
    columns: dict[str, np.ndarray] = {}
    for model in plan.models:
        if all((model, fold) in values for fold in first_repeat):
            of_model = np.full((rows, *values[model, 0].shape[1:]), np.nan)
            for fold in first_repeat:
                of_model[plan.partition.test_rows(fold)] = values[model, fold]
            columns |= decision_columns(model, of_model, classes)
    return pd.DataFrame(columns, index=range(rows), dtype=np.float64)


def write(plan: Plan, records: Records, table: pd.DataFrame, decisions: pd.DataFrame, root: Path = Path()) -> None:
    """Write results/NAME/ and metrics/sets/NAME.json."""
    name, folder = plan.dataset, root / paths.RESULTS / plan.dataset
    curves = pd.DataFrame(
        [
            (model, fold, iteration, objective)
            for (model, fold), record in sorted(records.items())
            for iteration, objective in zip(*record.get("curve", {"iteration": [], "objective": []}).values())
        ],
        columns=CURVE_COLUMNS,
    )
    deciding = table[table["metric"] == plan.metric]
    write_table(table, folder / TABLE)
    write_table(curves, folder / CURVES)
    with replacing(folder / DECISIONS) as part:
        decisions.to_parquet(part)
    first_fits = {model: records[model, MODEL_FOLD] for model in plan.models}  # in this order, whichever ended first
    boundaries = {model: record["boundary"] for model, record in first_fits.items() if "boundary" in record}
    if boundaries:
        write_json(folder / BOUNDARIES, boundaries)
    else:
        (folder / BOUNDARIES).unlink(missing_ok=True)
    manifest.write(folder, root / paths.DATA, plan.settings)
    values = deciding.groupby("model", sort=False)["value"]
    means = values.mean()[values.count() == plan.folds]  # of fewer folds it could not be compared
    write_json(root / paths.METRICS / f"{name}.json", {model: round(mean, 6) for model, mean in means.items()})
