"""`ldep tune`: settings of one model for all rows of a data set. Not part of `dvc repro`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from pipeline.common.errors import UserError
from pipeline.common.files import write_json
from pipeline.config import paths
from pipeline.config.params import Params
from pipeline.execution.full_study import tune_on_all_rows

log = logging.getLogger(__name__)


def run(name: str, model: str, params: Params, trials: int | None = None, root: Path = Path()) -> dict[str, Any]:
    """Write tuned/NAME.MODEL.json (chosen settings, inner score, trials), and return it."""
    outcome = tune_on_all_rows(name, model, with_trials(params, model, trials), root)
    record = {"dataset": name, "model": model, **outcome}
    write_json(root / paths.TUNED / f"{name}.{model}.json", record, infinite=True)
    log.info("%s, %s: %s %.4f with %s.", name, model, params.metric, outcome["value"], outcome["chosen"])
    return record


def with_trials(params: Params, model: str, trials: int | None) -> Params:
    """The same parameters, with another number of trials for one model."""
    if trials is None or model not in params.classifiers:
        return params
    if trials < 1:
        raise UserError(f"--trials is {trials}; it must be at least 1.")
    entry = params.classifiers[model].model_copy(update={"trials": trials})
    return params.model_copy(update={"classifiers": {**params.classifiers, model: entry}})
