"""Stage register: fit the best model of a data set on all its rows, register it, and decide about its alias."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ldep_pipeline.common.files import locked, write_json
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Params
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.execution import plan, results
from ldep_pipeline.execution.model_check import check_models
from ldep_pipeline.execution.store import Store
from ldep_pipeline.registry import final_model, registration, selection
from ldep_pipeline.registry.examination import examine
from ldep_pipeline.registry.final_model import FinalModel


def run(name: str, params: Params, root: Path = Path(), promote: bool = False) -> dict[str, Any]:
    """Write registry/NAME.json (selected model, version, alias, why), and return its content."""
    check_models(params, Store(root / paths.BUILT))
    table = results.read(name, root / paths.RESULTS)
    results.check_settings(name, params, root / paths.RESULTS)
    selected = selection.select(name, table, params)
    partition = load_training_data(name, root / paths.DATA).partition
    trained = plan.make(name, params, partition, root / paths.DATA, root / paths.STATE, [selected.model])
    record: dict[str, Any] = {
        "dataset": name,
        "model": selected.model,
        "metric": params.metric,
        "metrics": selected.metrics,
        "ranking": selected.ranking,
        "margin": params.register_.margin,
    }
    if not params.tracking.enabled:
        record |= {"registered": None, "why": "tracking.enabled is false"}
    else:
        with locked(root / paths.LOCKS / f"{name}.register.lock", f"the registration of {name}"):
            work = final_model.plan(trained, params, root)
            record |= _threshold_record(work) | registration.register(work, selected, params, root, promote)
    if name in params.own_data:  # the report of an own data set takes a closer look at its model
        record["examination"] = examine(trained, table, params, root)
    write_json(root / paths.REGISTRY / f"{name}.json", record, infinite=True)
    return record


def _threshold_record(work: FinalModel) -> dict[str, Any]:
    """The threshold of the decision value, and the metric on unseen rows with it and with 0."""
    threshold = work.threshold
    if threshold is None:
        return {"threshold": None}
    return {
        "threshold": threshold.value,
        "metric_at_threshold": threshold.metric_at_threshold,
        "metric_at_default": threshold.metric_at_default,
    }
