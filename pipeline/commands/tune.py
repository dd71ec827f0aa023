"""`ldep tune`: settings of one model for all rows of a data set. Not part of `dvc repro`."""

from __future__ import annotations

from pipeline.common.errors import UserError
from pipeline.config.params import Params


def with_trials(params: Params, model: str, trials: int | None) -> Params:
    """The same parameters, with another number of trials for one model."""
    if trials is None or model not in params.classifiers:
        return params
    if trials < 1:
        raise UserError(f"--trials is {trials}; at least 1 is needed.")
    entry = params.classifiers[model].model_copy(update={"trials": trials})
    return params.model_copy(update={"classifiers": {**params.classifiers, model: entry}})
