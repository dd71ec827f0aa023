"""The results of train, written, and read and checked: every other stage gets its numbers through this module.

Results of other data, of other folds or of other settings look like any others. Therefore `train` seals its folder:
results/NAME/manifest.json has the digests of the inputs, of each model's settings and of every file, and whoever reads
a file compares them first. A file that passes is as `train` wrote it, so its content needs no further checks. The
folder of results and that of the data stand side by side in the project's folder.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldep.model import folded, unfolded
from ldep_pipeline.common.digests import digest, file_digest, seal, unseal
from ldep_pipeline.common.errors import UserError, first_line
from ldep_pipeline.common.files import replacing, write_json, write_text
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Params
from ldep_pipeline.metrics import evaluation
from ldep_pipeline.metrics.metric import METRICS

if TYPE_CHECKING:
    from ldep_pipeline.execution.plan import TrainingPlan

Records = dict[tuple[str, int], dict[str, Any]]
"""The record of each fit, by model and fold."""
TABLE, DECISIONS, CURVES, BOUNDARIES = "results.csv", "decisions.parquet", "curves.csv", "boundaries.json"
MANIFEST = "manifest.json"
COLUMNS = [
    "dataset",
    "model",
    "fold",
    "metric",
    "value",
    "fit_seconds",
    "fit_cpu_seconds",
    "predict_seconds",
    "tune_seconds",
    "tune_cpu_seconds",
    "trials",
    "objective",
    "iterations",
    "solver",
    "threshold",
    "served_threshold",
    "settings",
    "source",
    "status",
    "message",
]
CURVE_COLUMNS = ["model", "fold", "iteration", "objective"]
BY_CLASS = "/"  # between model and class in a column of decision values; no model's name has one
TEXT = ["solver", "settings", "source", "status", "message"]  # may be empty


def tidy(plan: TrainingPlan, records: Records, source: str) -> pd.DataFrame:
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
                "threshold": record.get("threshold", 0.0),
                "served_threshold": record.get("served_threshold", 0.0),
                "settings": json.dumps(record["settings"], sort_keys=True),
                "source": source,
                "status": record["status"],
                "message": "; ".join(filter(None, [tuning.get("message"), record["message"]])),
            }
            values = record.get("metrics", {})
            rows += [{**shared, "metric": metric, "value": values.get(metric)} for metric in METRICS]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"iterations": "Int64"})


def decision_table(
    plan: TrainingPlan, values: dict[tuple[str, int], np.ndarray], classes: Sequence[str]
) -> pd.DataFrame:
    """One row per row of the data set, in its order; one column per model that has decision values in every fold.

    With more than two classes each model has one column per class, MODEL/CLASS. Each value comes from the fit of the
    first repeat that had not seen the row. It is NaN where no fold tests the row.
    """
    rows, first_repeat = len(plan.partition.test_fold), range(plan.partition.folds_per_repeat)
    columns: dict[str, np.ndarray] = {}
    for model in plan.models:
        if all((model, fold) in values for fold in first_repeat):
            of_model = np.full((rows, len(classes)), np.nan)
            for fold in first_repeat:
                of_model[plan.partition.test_rows(fold)] = values[model, fold]
            names = [model] if len(classes) == 2 else [f"{model}{BY_CLASS}{label}" for label in classes]
            columns |= dict(zip(names, folded(of_model).reshape(rows, -1).T))
    return pd.DataFrame(columns, index=range(rows), dtype=np.float64)


def write(
    plan: TrainingPlan, records: Records, table: pd.DataFrame, decisions: pd.DataFrame, root: Path = Path()
) -> None:
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
    # In the order of the models, whichever ended first; one fit of a model has a boundary.
    fits = [(model, records[model, fold]) for model in plan.models for fold in range(plan.folds)]
    boundaries = {model: record["boundary"] for model, record in fits if "boundary" in record}
    if boundaries:
        write_json(folder / BOUNDARIES, boundaries)
    else:
        (folder / BOUNDARIES).unlink(missing_ok=True)
    seal_folder(folder, plan.md5, plan.settings)
    values = deciding.groupby("model", sort=False)["value"]
    means = values.mean()[values.count() == plan.folds]  # of fewer folds it could not be compared
    write_json(root / paths.METRICS / f"{name}.json", {model: round(mean, 6) for model, mean in means.items()})


def read(name: str, folder: Path = paths.RESULTS) -> pd.DataFrame:
    """The tidy table of one data set: one row per model, fold and metric."""
    types: dict[Any, Any] = {**dict.fromkeys(["dataset", "model", "metric", *TEXT], "str"), "iterations": "Int64"}
    table = pd.read_csv(_intact(name, TABLE, folder), dtype=types, keep_default_na=False, na_values=[""])
    table[TEXT] = table[TEXT].fillna("")
    return table.astype({"value": "float64"})


def read_decisions(name: str, folder: Path = paths.RESULTS) -> pd.DataFrame:
    """The decision values of each row by the fit that had not seen it: one column per model that has them.

    With more than two classes a model has one column per class, MODEL/CLASS; `decisions_of` reads both forms.
    Rows stand in the order of the data set. A model without decision values, or with a failed fold, has no column.
    """
    return pd.read_parquet(_intact(name, DECISIONS, folder))


def decisions_of(model: str, table: pd.DataFrame) -> np.ndarray | None:
    """The decision values of one model in a table of `read_decisions`; None if the model has none.

    One column per class, in sorted order. A row that no fold has tested has NaN.
    """
    if model in table:
        return unfolded(table[model].to_numpy())
    columns = [column for column in table.columns if column.startswith(f"{model}{BY_CLASS}")]
    return table[columns].to_numpy() if columns else None


def read_curves(name: str, folder: Path = paths.RESULTS) -> pd.DataFrame:
    """The objective by iteration: columns model, fold, iteration, objective."""
    return pd.read_csv(_intact(name, CURVES, folder))


def read_boundaries(name: str, folder: Path = paths.RESULTS) -> dict[str, Any]:
    """{model: decision values on a grid} of a data set with two features; empty for any other."""
    if BOUNDARIES not in _manifest(folder / name)[1]:
        return {}
    return json.loads(_intact(name, BOUNDARIES, folder).read_text(encoding="utf-8"))


def write_table(table: pd.DataFrame, path: Path) -> None:
    write_text(path, table.to_csv(index=False, lineterminator="\n"))


def input_digests(name: str, data: Path = paths.DATA) -> dict[str, str]:
    """Digests of the files that `train` reads, as in dvc.lock."""
    return {kind: file_digest(path, "md5") for kind, path in _inputs(name, data).items() if path.is_file()}


def settings_digest(model: str, params: Params) -> str:
    """Digest of everything in params.yaml that the numbers of one model depend on."""
    entry = params.classifiers[model]
    tuning = [params.tuning.model_dump(), params.metric] if entry.search else None
    costs = params.costs.model_dump() if params.costs is not None else None
    metric = params.metric if evaluation.depends_on_threshold(params.metric) else None
    return digest(entry.model_dump(), tuning, metric, costs, params.impute.model_dump(), params.execution.seed)


def seal_folder(folder: Path, inputs: dict[str, str], settings: dict[str, str]) -> None:
    """Write the manifest of a folder that is otherwise complete. `settings` has a digest per model."""
    files = {path.name: file_digest(path) for path in sorted(folder.iterdir()) if path.name != MANIFEST}
    seal(folder / MANIFEST, folder.name, {"inputs": inputs, "settings": settings, "form": _form()}, files)


def check_settings(name: str, params: Params, folder: Path = paths.RESULTS) -> None:
    """Refuse results of models whose settings in params.yaml have changed since."""
    known = _manifest(folder / name)[0]["settings"]
    for model in params.models:
        if model in known and known[model] != settings_digest(model, params):
            raise UserError(
                f"{folder / name}: {model} was trained with other settings than params.yaml has now; "
                f"run `ldep train {name}` again, or `dvc repro`."
            )


def _intact(name: str, file: str, folder: Path) -> Path:
    """The path of a file that is as `train` wrote it, from the data and folds that are there now; else UserError."""
    path, data = folder / name / file, folder.parent / paths.DATA
    record, files = _manifest(path.parent)
    again = f"run `ldep train {name}` again, or `dvc repro`"
    try:
        found = file_digest(path)
    except FileNotFoundError:
        raise UserError(f"{path} is missing; {again}.") from None
    if files.get(file) != found:
        raise UserError(f"{path} is not as `ldep train {name}` wrote it; {again}.")
    if record["form"] != _form():
        raise UserError(f"{path} was written by another version of the code, with other columns or metrics; {again}.")
    for kind, current in input_digests(name, data).items():
        if record["inputs"].get(kind) != current:
            raise UserError(f"{path} was computed from another version of {_inputs(name, data)[kind]}; {again}.")
    return path


def _manifest(folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    path, command = folder / MANIFEST, f"ldep train {folder.name}"
    try:
        return unseal(path, folder.name)
    except FileNotFoundError:
        raise UserError(f"{path} is missing; run `{command}` first, or `dvc repro`.") from None
    except ValueError as error:
        raise UserError(f"{path} cannot be read ({first_line(error)}); run `{command}` again.") from None


def _form() -> list[list[str]]:
    return [COLUMNS, list(METRICS)]


def _inputs(name: str, data: Path) -> dict[str, Path]:
    return {"imputed": paths.imputed(name, data), "folds": paths.folds(name, data)}
