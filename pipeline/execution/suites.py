"""Suites of models for own data: as many of a suite's models as the machine can train in a bearable time.

The models of a suite stand in the order in which they get their share of the time. A model that would exceed it steps
aside, as those do first whose cost grows with the square of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.config.params import Params
from pipeline.execution import pools
from pipeline.execution.affordable import fold_seconds


@dataclass(frozen=True)
class Suite:
    models: tuple[str, ...]
    seconds: float
    """How long training may take, as an estimate."""


SUITES = {
    "quick": Suite(("logistic", "ldep_cv", "extra_trees"), 60),
    "standard": Suite(
        ("logistic", "ldep_cv", "hist_gradient_boosting", "extra_trees", "mlp", "rbf_svc", "ldep"),
        300,
    ),
    "full": Suite(
        (
            *("logistic", "ldep_cv", "hist_gradient_boosting", "extra_trees", "mlp", "rbf_svc", "ldep"),
            *("random_forest", "mlp_tuned", "rbf_svc_tuned"),
        ),
        3600,
    ),
}


@dataclass(frozen=True)
class Choice:
    """The models of a suite for one data set, the estimated seconds of all of them, and of each that steps aside."""

    models: list[str]
    seconds: float
    left_out: dict[str, float]


def choose(suite: str, params: Params, rows: int, features: int) -> Choice:
    """Choose models for a data set of this size, with the folds, the tuning and the processes of params.yaml.

    The first model of the suite, the cheapest, always stays.
    """
    workers = pools.job_count(params.execution)
    folds = params.split.folds * params.split.repeats
    training_rows = rows - rows // params.split.folds
    choice = Choice([], 0.0, {})
    for model in SUITES[suite].models:
        if model not in params.classifiers:
            continue
        seconds = folds * fold_seconds(params.classifiers[model], params.tuning, training_rows, features) / workers
        if choice.models and choice.seconds + seconds > SUITES[suite].seconds:
            choice.left_out[model] = seconds
        else:
            choice = Choice([*choice.models, model], choice.seconds + seconds, choice.left_out)
    return choice
