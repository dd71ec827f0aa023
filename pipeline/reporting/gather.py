"""One tidy table of all sets, checked: the report reads this, and only this, for its numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.errors import UserError, first_line, nearest
from pipeline.common.files import write_text
from pipeline.config import paths
from pipeline.execution.results import COLUMNS
from pipeline.fitting.metrics import METRICS

TEXT = ("dataset", "model", "metric", "solver", "settings", "source", "status", "message")
# Of METRICS, those that cannot be negative. One that was added may be, as a correlation is.
SHARES = ("accuracy", "f1_macro", "balanced_accuracy", "roc_auc")


def collect(names: Sequence[str], root: Path) -> pd.DataFrame:
    """The tables of the sets, one below the other, in the order of the names."""
    tables = []
    for name in names:
        path = root / paths.RESULTS / name / "results.csv"
        again = f"run `ldep train {name}` again"
        table = read(path, again, f"run `ldep train {name}` first, or `dvc repro`")
        if list(table["dataset"].unique()) != [name]:
            held = ", ".join(map(str, table["dataset"].unique())) or "no rows"
            raise UserError(f"{path} holds {held}, not {name}; {again}.")
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def write(table: pd.DataFrame, path: Path) -> None:
    write_text(path, table.to_csv(index=False, lineterminator="\n"))


def read(path: Path, again: str, first: str) -> pd.DataFrame:
    """Read a tidy table and check it; UserError names the file, the row and what to do."""
    try:
        whole = path.read_bytes().endswith(b"\n")
        kinds: dict[Any, Any] = {**dict.fromkeys(TEXT, "str"), "iterations": "Int64"}
        table = pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=[""])
    except FileNotFoundError:
        raise UserError(f"{path} is not here; {first}.") from None
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise UserError(f"{path} cannot be read ({first_line(error)}); {again}.") from None
    _check_columns(table, path, again)
    if not whole:
        raise UserError(f"{path} breaks off in its last row ({len(table) + 1}); {again}.")
    table = table.astype({"value": "float64"}, errors="ignore")
    texts = [column for column in TEXT if column not in ("dataset", "model", "metric")]
    table[texts] = table[texts].fillna("")
    _check_rows(table, path, again)
    return table


def _check_columns(table: pd.DataFrame, path: Path, again: str) -> None:
    for column in table.columns:
        if column not in COLUMNS:
            raise UserError(f"{path}: unknown column '{column}', {nearest(str(column), COLUMNS)} Else {again}.")
    missing = [column for column in COLUMNS if column not in table.columns]
    if missing:
        raise UserError(f"{path}: the column '{missing[0]}' is missing; {again}.")


def _check_rows(table: pd.DataFrame, path: Path, again: str) -> None:
    def refuse(bad: pd.Series, what: str) -> None:
        if bad.any():
            row = int(bad.to_numpy().argmax())
            raise UserError(f"{path}, row {row + 2}: {what}; {again}.")

    if table.empty:
        raise UserError(f"{path} has no rows; {again}.")
    refuse(table[["dataset", "model", "fold", "metric"]].isna().any(axis=1), "dataset, model, fold or metric is empty")
    refuse(~table["metric"].isin(METRICS), f"an unknown metric (known: {', '.join(METRICS)})")
    refuse(~table["status"].isin(["ok", "failed"]), "status is neither ok nor failed")
    values = pd.to_numeric(table["value"], errors="coerce")
    share, held = table["metric"].isin(SHARES), table["value"].notna()
    refuse(held & share & ~values.between(0, 1), "value is no number from 0 to 1")
    refuse(held & ~values.between(-1, 1), "value is no number from -1 to 1")
    good = (table["status"] == "ok") & (table["metric"] == "accuracy")
    refuse(good & values.isna(), "an accuracy is missing, though the fit is ok")
    refuse(table.duplicated(["dataset", "model", "fold", "metric"]), "this model, fold and metric stands here twice")
    refuse(~table["settings"].map(_is_json), "settings is no JSON object")
    for name, rows in table.groupby("dataset", sort=False):
        expected = rows["fold"].nunique() * len(METRICS)
        for model, held in rows.groupby("model", sort=False):
            if len(held) != expected:
                raise UserError(f"{path}: {name}, {model} has {len(held)} rows of {expected}; {again}.")


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
