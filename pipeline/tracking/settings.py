"""The settings of a run: MLflow parameters, one per setting."""

from __future__ import annotations

import json
from typing import Any

from mlflow.entities import Param

from pipeline.tracking.run_record import Folds, RunRecord

LONGEST = 6000  # characters that MLflow stores of a parameter


def parameters(record: RunRecord) -> list[Param]:
    """One parameter per setting; where the folds chose different values, the list of them.

    `classifier` and `dataset` tell the runs apart on the compare page. That page shows the first three parameters, in
    alphabetical order, in which the runs differ: hence `classifier`, not `model`.
    """
    values = {"classifier": record.model, "dataset": record.dataset}
    for name, texts in by_name(record.folds).items():
        values[name] = texts[0] if len(set(texts)) == 1 else " | ".join(texts)
    trials = [fold["tuning"].get("trials") for fold in record.folds.values() if fold["tuning"]]
    if trials:
        values["tuning_trials"] = str(sum(filter(None, trials)))
    return [Param(name, text[:LONGEST]) for name, text in values.items()]


def by_name(folds: Folds) -> dict[str, list[str]]:
    """The text of each setting in each fold. Numbers that differ between the folds are shown with four digits."""
    texts = {}
    for name in sorted({name for record in folds.values() for name in record["settings"]}):
        values = [record["settings"].get(name) for _, record in sorted(folds.items())]
        differ = any(value != values[0] for value in values)
        texts[name] = [_text(value, rounded=differ) for value in values]
    return texts


def _text(value: Any, rounded: bool) -> str:
    if rounded and isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value)
