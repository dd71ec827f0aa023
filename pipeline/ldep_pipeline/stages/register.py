"""Stage register: fit the best model of a data set on all its rows, register it, and decide about its alias."""

from __future__ import annotations

import logging
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
from ldep_pipeline.registry.final_model import FinalModel, UselessModel
from ldep_pipeline.registry.selection import Selection

log = logging.getLogger(__name__)


def run(name: str, params: Params, root: Path = Path(), promote: bool = False) -> dict[str, Any]:
    """Write registry/NAME.json (selected model, version, alias, why), and return its content.

    Nothing is registered if no model beats guessing, unless `promote` asks for it.
    """
    check_models(params, Store(root / paths.BUILT))
    table = results.read(name, root / paths.RESULTS)
    results.check_settings(name, params, root / paths.RESULTS)
    data = load_training_data(name, root / paths.DATA)
    decisions = results.read_decisions(name, root / paths.RESULTS)
    selected = selection.select(name, table, params, data, decisions)
    outcome: dict[str, Any] = {"registered": None}
    if not selected.has_skill and not promote:
        outcome["why"] = selected.why_not(params.metric)
        log.warning("%s: nothing is registered: %s.", name, outcome["why"])
    elif not params.tracking.enabled:
        outcome["why"] = "tracking.enabled is false"
    else:
        selected, outcome = _register(name, selected, params, root, promote)
    record: dict[str, Any] = {
        "dataset": name,
        "model": selected.model,
        "metric": params.metric,
        "metrics": selected.metrics,
        "ranking": selected.ranking,
        "margin": params.register_.margin,
        "beats_guessing": selected.has_skill,
        "guessing": selected.comparison(),
        **outcome,
    }
    if name in params.own_data and selected.has_skill:  # the report of an own data set takes a closer look at its model
        record["examination"] = examine(_plan(name, selected, params, root), table, params, root)
    write_json(root / paths.REGISTRY / f"{name}.json", record, infinite=True)
    return record


def _register(
    name: str, selected: Selection, params: Params, root: Path, promote: bool
) -> tuple[Selection, dict[str, Any]]:
    """Register the selected model, or the first of the others that does not say the same about every row."""
    problems = []
    with locked(root / paths.LOCKS / f"{name}.register.lock", f"the registration of {name}"):
        for candidate in (selected, *selected.others):
            work = final_model.plan(_plan(name, candidate, params, root), params, root)
            try:
                registered = registration.register(work, candidate, params, root, promote)
            except UselessModel as error:
                problems.append(f"{candidate.model}, fitted on all rows: {error}")
                log.warning("%s: %s.", name, problems[-1])
            else:
                return candidate, _threshold_record(work) | registered
    return selected, {"registered": None, "why": "; ".join(problems)}


def _plan(name: str, selected: Selection, params: Params, root: Path) -> plan.TrainingPlan:
    partition = load_training_data(name, root / paths.DATA).partition
    return plan.make(name, params, partition, root / paths.DATA, root / paths.STATE, [selected.model])


def _threshold_record(work: FinalModel) -> dict[str, Any]:
    """The threshold of the decision value, and the metric on unseen rows with it and with 0."""
    threshold = work.threshold
    if threshold is None:
        return {"threshold": None}
    return {
        "threshold": threshold.value,
        "threshold_metric": threshold.metric,
        "metric_at_threshold": threshold.metric_at_threshold,
        "metric_at_default": threshold.metric_at_default,
    }
