"""The results of train, read and checked: every other stage gets its numbers through this module.

The folder of results and that of the data stand side by side in the project's folder. Results that were made from other
data or folds than those are refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.common.errors import UserError, first_line, nearest
from pipeline.common.files import write_text
from pipeline.config import paths
from pipeline.execution import manifest
from pipeline.fitting.metrics import METRICS

TABLE, DECISIONS, CURVES, BOUNDARIES = "results.csv", "decisions.parquet", "curves.csv", "boundaries.json"
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
    "settings",
    "source",
    "status",
    "message",
]
CURVE_COLUMNS = ["model", "fold", "iteration", "objective"]
BY_CLASS = "/"  # between model and class in a column of decision values; no model's name has one
IDENTITY = ["dataset", "model", "fold", "metric"]  # of a row; never empty
TEXT = ["solver", "settings", "source", "status", "message"]  # may be empty


def read(name: str, folder: Path = paths.RESULTS) -> pd.DataFrame:
    """The tidy table of one data set: one row per model, fold and metric."""
    path = folder / name / TABLE
    table = read_table(path, f"ldep train {name}")
    if list(table["dataset"].unique()) != [name]:
        present = ", ".join(table["dataset"].unique())
        raise UserError(f"{path} holds {present}, not {name}; run `ldep train {name}` again.")
    manifest.check_file(path, folder.parent / paths.DATA)
    return table


def read_all(names: Sequence[str], folder: Path = paths.RESULTS) -> pd.DataFrame:
    """The tidy tables of several data sets, one below the other, in the order of the names."""
    return pd.concat([read(name, folder) for name in names], ignore_index=True)


def read_decisions(name: str, folder: Path = paths.RESULTS) -> pd.DataFrame:
    """The decision values of each row by the fit that had not seen it: one column per model that has them.

    With more than two classes a model has one column per class, MODEL/CLASS; `decisions_of` reads both forms.
    Rows stand in the order of the data set. A model without decision values, or with a failed fold, has no column.
    """
    path = folder / name / DECISIONS
    try:
        table = pd.read_parquet(path)
    except FileNotFoundError:
        raise _missing(path, f"ldep train {name}") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, f"ldep train {name}") from None
    manifest.check_file(path, folder.parent / paths.DATA)
    return table


def decision_columns(model: str, values: np.ndarray, classes: Sequence[str]) -> dict[str, np.ndarray]:
    """The columns of a model in the table of decision values."""
    if values.ndim == 1:
        return {model: values}
    return {f"{model}{BY_CLASS}{label}": column for label, column in zip(classes, values.T)}


def decisions_of(model: str, table: pd.DataFrame) -> np.ndarray | None:
    """The decision values of one model in a table of `read_decisions`; None if the model has none.

    With two classes one number per row, positive where the second class is favoured; with more classes one column per
    class, in sorted order. A row that no fold has tested has NaN.
    """
    if model in table:
        return table[model].to_numpy()
    columns = [column for column in table.columns if column.startswith(f"{model}{BY_CLASS}")]
    return table[columns].to_numpy() if columns else None


def read_curves(name: str, folder: Path = paths.RESULTS) -> pd.DataFrame:
    """The objective by iteration: columns model, fold, iteration, objective."""
    path = folder / name / CURVES
    try:
        table = pd.read_csv(path)[CURVE_COLUMNS]
    except FileNotFoundError:
        raise _missing(path, f"ldep train {name}") from None
    except (OSError, ValueError, KeyError, pd.errors.ParserError) as error:
        raise _unreadable(path, error, f"ldep train {name}") from None
    manifest.check_file(path, folder.parent / paths.DATA)
    return table


def read_boundaries(name: str, folder: Path = paths.RESULTS) -> dict[str, Any]:
    """{model: decision values on a grid} of a data set with two features; empty for any other."""
    path = folder / name / BOUNDARIES
    if BOUNDARIES not in manifest.read(path.parent)["files"]:
        return {}
    try:
        boundaries = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _missing(path, f"ldep train {name}") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, f"ldep train {name}") from None
    manifest.check_file(path, folder.parent / paths.DATA)
    return boundaries


def write_table(table: pd.DataFrame, path: Path) -> None:
    write_text(path, table.to_csv(index=False, lineterminator="\n"))


def read_table(path: Path, command: str) -> pd.DataFrame:
    """Read a tidy table and check it; UserError names the file, the row, and the command that writes it."""
    try:
        complete = path.read_bytes().endswith(b"\n")
        types: dict[Any, Any] = {**dict.fromkeys(["dataset", "model", "metric", *TEXT], "str"), "iterations": "Int64"}
        table = pd.read_csv(path, dtype=types, keep_default_na=False, na_values=[""])
    except FileNotFoundError:
        raise _missing(path, command) from None
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise _unreadable(path, error, command) from None
    _check_columns(table, path, command)
    if not complete:
        raise UserError(f"{path} breaks off in its last row ({len(table) + 1}); run `{command}` again.")
    table = table.astype({"value": "float64"}, errors="ignore")
    table[TEXT] = table[TEXT].fillna("")
    _check_rows(table, path, command)
    _check_completeness(table, path, command)
    return table


def _missing(path: Path, command: str) -> UserError:
    return UserError(f"{path} is missing; run `{command}` first, or `dvc repro`.")


def _unreadable(path: Path, error: Exception, command: str) -> UserError:
    return UserError(f"{path} cannot be read ({first_line(error)}); run `{command}` again.")


def _check_columns(table: pd.DataFrame, path: Path, command: str) -> None:
    for column in table.columns:
        if column not in COLUMNS:
            hint = nearest(str(column), COLUMNS)
            raise UserError(f"{path}: unknown column '{column}', {hint} Otherwise run `{command}` again.")
    missing = [column for column in COLUMNS if column not in table.columns]
    if missing:
        raise UserError(f"{path}: the column '{missing[0]}' is missing; run `{command}` again.")


def _check_rows(table: pd.DataFrame, path: Path, command: str) -> None:
    def refuse(bad: pd.Series, problem: str) -> None:
        if bad.any():
            row = int(bad.to_numpy().argmax()) + 2  # of the file, whose first line is the header
            raise UserError(f"{path}, row {row}: {problem}; run `{command}` again.")

    if table.empty:
        raise UserError(f"{path} has no rows; run `{command}` again.")
    refuse(table[IDENTITY].isna().any(axis=1), "dataset, model, fold or metric is empty")
    refuse(~table["metric"].isin(METRICS), f"an unknown metric (known: {', '.join(METRICS)})")
    refuse(~table["status"].isin(["ok", "failed"]), "status is neither ok nor failed")
    values = pd.to_numeric(table["value"], errors="coerce")
    for name, metric in METRICS.items():
        outside = ~values.between(metric.low, metric.high)
        problem = f"{name} is not a number from {metric.low:g} to {metric.high:g}"
        refuse((table["metric"] == name) & table["value"].notna() & outside, problem)
    successful = (table["status"] == "ok") & (table["metric"] == "accuracy")
    refuse(successful & values.isna(), "the accuracy is missing, although the fit succeeded")
    refuse(table.duplicated(IDENTITY), "this model, fold and metric appears twice")
    refuse(~table["settings"].map(_is_json_object), "settings is not a JSON object")


def _check_completeness(table: pd.DataFrame, path: Path, command: str) -> None:
    for name, rows in table.groupby("dataset", sort=False):
        folds = rows["fold"].nunique()
        if set(rows["fold"]) != set(range(folds)):
            raise UserError(f"{path}: {name} lacks a fold below {rows['fold'].max()}; run `{command}` again.")
        expected = folds * len(METRICS)
        for model, count in rows.groupby("model", sort=False).size().items():
            if count != expected:
                raise UserError(f"{path}: {name}, {model} has {count} rows of {expected}; run `{command}` again.")


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
