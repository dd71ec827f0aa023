"""The champion of other data or folds, measured again: its settings are fitted out of fold on the rows of today.

So a new version and the champion are compared on the same rows and folds, and neither is asked about rows that it has
seen. The fits are stored like those of `train`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ldep_pipeline.common import progress
from ldep_pipeline.common.digests import digest
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Params
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.execution import plan, thresholds
from ldep_pipeline.fitting.fit import FitTask, run_fit


class NoRematch(Exception):
    """The settings of the champion cannot be fitted again; the message says why."""


def measure(dataset: str, tags: Mapping[str, str], params: Params, root: Path) -> np.ndarray:
    """The metric that decides, on each fold. tags: those of the champion's version."""
    model = tags.get("model", "")
    if model not in params.classifiers:
        raise NoRematch(f"its model, {model or 'unknown'}, is not one of classifiers")
    try:
        settings = json.loads(tags["settings"])
    except (KeyError, ValueError):  # a tag cannot hold the settings of a large ensemble
        raise NoRematch("its settings are not recorded completely") from None
    data = load_training_data(dataset, root / paths.DATA)
    trained = plan.make(dataset, params, data.partition, root / paths.DATA, root / paths.STATE, [model])
    tasks = {fold: _with_settings(task, settings) for (_, fold), task in trained.fits.items()}
    records: dict[int, dict[str, Any]] = {}
    decisions: dict[int, np.ndarray] = {}
    with progress.of_one_step(f"{dataset}: fitting the settings of the champion, {model}, on the new rows"):
        for fold, task in tasks.items():
            result = trained.store.get_fit(task.key) or run_fit(task, data)
            if result.record["status"] == "failed":
                raise NoRematch(f"with its settings, {model} fails on the new rows: {result.record['message']}")
            trained.store.put_fit(task.key, replace(result, pipeline=None))
            records[fold] = dict(result.record)
            if result.decisions is not None:
                decisions[fold] = result.decisions
    chosen = thresholds.choose(params.metric, params.costs, data, decisions)
    if chosen is not None:
        for fold, record in records.items():
            thresholds.apply(chosen, params.costs, data, fold, decisions[fold], record)
    values = [records[fold]["metrics"].get(params.metric) for fold in sorted(records)]
    return np.array(values, dtype=np.float64)


def _with_settings(task: FitTask, settings: dict[str, Any]) -> FitTask:
    key = digest("rematch", task.key, settings)
    if task.entry.ensemble is not None:
        return replace(task, key=key, ensemble=settings)
    return replace(task, key=key, chosen=settings)
