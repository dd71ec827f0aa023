"""Settings of one model for all rows of a set: what a final model is trained with. No part of `dvc repro`.

The nested studies of train choose settings for their training folds, and so say how good the procedure is. This one
sees every row, and says nothing about that.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from pipeline.common import file_lock, progress
from pipeline.common.digests import digest, file_digest
from pipeline.common.errors import UserError, first_line, nearest
from pipeline.common.files import write_json
from pipeline.config import paths
from pipeline.config.models import check_models
from pipeline.config.params import Params
from pipeline.execution import plan
from pipeline.execution.inputs import load_training_data
from pipeline.execution.store import Store
from pipeline.fitting.study import run_study

log = logging.getLogger(__name__)


def tune_on_all_rows(name: str, model: str, params: Params, root: Path = Path()) -> dict[str, Any]:
    """Write tuned/NAME.MODEL.json (chosen settings, inner score, trials), and return it."""
    searched = [known for known, entry in params.classifiers.items() if entry.search]
    if model not in searched:
        raise UserError(f"'{model}' is not one of classifiers with a search; {nearest(model, searched)}")
    check_models(params.model_copy(update={"models": [model]}))
    folder, state = root / paths.DATA, root / paths.STATE
    rows = load_training_data(name, folder)
    data = digest(file_digest(paths.imputed(name, folder)))
    work = plan.study(name, model, None, params, data, state)
    with file_lock.locked(root / paths.LOCKS / f"{name}.lock", f"the models of {name}"):
        store = Store(state / "fits")
        outcome = store.get(work.key)
        if outcome is None:
            try:
                trials = work.entry.trials or params.tuning.trials
                with progress.of_study(f"{name}, {model}", trials) as tick:
                    outcome = run_study(work, rows, tick)
            except ValueError as error:  # no trial succeeded
                raise UserError(f"{name}: {first_line(error)}; see classifiers.{model} in params.yaml.") from None
            store.put(work.key, outcome)
    written = {"dataset": name, "model": model, **outcome}
    write_json(root / paths.TUNED / f"{name}.{model}.json", written, infinite=True)
    log.info("%s, %s: %s %.4f with %s.", name, model, params.tuning.metric, outcome["value"], outcome["chosen"])
    return written
