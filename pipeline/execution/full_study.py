"""Tuning one model on all rows of a data set: the settings of a final model.

The nested studies of `train` choose settings for their training folds, and so estimate how good the procedure is. A
study on all rows estimates nothing: there are no rows left to test on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.common import file_lock, progress
from pipeline.common.digests import file_digest
from pipeline.common.errors import UserError, first_line, nearest
from pipeline.config import paths
from pipeline.config.models import check_models
from pipeline.config.params import Params
from pipeline.execution import plan
from pipeline.execution.inputs import load_training_data
from pipeline.execution.store import Store
from pipeline.fitting.study import run_study


def tune_on_all_rows(name: str, model: str, params: Params, root: Path = Path()) -> dict[str, Any]:
    """The outcome of the study: `chosen` settings, their inner score as `value`, number of trials, seconds."""
    tunable = [candidate for candidate, entry in params.classifiers.items() if entry.is_tuned]
    if model not in tunable:
        raise UserError(f"'{model}' is not one of classifiers with a search; {nearest(model, tunable)}")
    check_models(params.model_copy(update={"models": [model]}))
    folder, state = root / paths.DATA, root / paths.STATE
    data = load_training_data(name, folder)
    data_digest = plan.fold_digest(file_digest(paths.imputed(name, folder)), data.partition, None)
    task = plan.study_task(name, model, None, params, data_digest, state)
    with file_lock.locked(root / paths.LOCKS / f"{name}.lock", f"the models of {name}"):
        store = Store(state / "fits")
        outcome = store.get(task.key)
        if outcome is None:
            trials = task.entry.trials or params.tuning.trials
            try:
                with progress.of_study(f"{name}, {model}", trials) as on_trial:
                    outcome = run_study(task, data, on_trial)
            except ValueError as error:  # no trial succeeded
                raise UserError(f"{name}: {first_line(error)}; see classifiers.{model} in params.yaml.") from None
            store.put(task.key, outcome)
    return outcome
