"""Suites of models for own data: as many of a suite's models as the machine can train in a bearable time.

The models of a suite get their share of the time in their order. A model that would exceed it is skipped; the first to
be skipped are those whose cost grows with the square of the rows.

The time is that of a pilot (`pilot.py`), or else an estimate by the class of a model and the size of the data. The unit
of the estimates is a second of the machine that they were measured on: a 2.6 GHz core, one thread, on 1,000 to 24,000
rows of make_classification with noise. On real data they are wrong by a factor of three and more either way. So they
serve where a model has no pilot, and tell how its time grows. Neither decides a number, and neither is therefore in the
room `fitting`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldep_pipeline.config.params import Params
from ldep_pipeline.execution import pools
from ldep_pipeline.fitting.models import settings_for
from ldep_pipeline.fitting.specs import Classifier, Estimate, Tuning, ccp_seconds, ebm_seconds
from ldep_pipeline.fitting.training_data import Partition

PRUNED = 0.6  # the share of a trial's inner fits that is made on average: the others are abandoned
LOOSE = 0.01  # a tolerance from which on the ℓ-DEP needs about a third of the iterations; its default is looser

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Suite:
    """Models in the order in which they get their share of the time, and how many seconds training may take."""

    models: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Timing:
    """Expected seconds of one fit and of one trial of a model, from a pilot."""

    fit: float
    trial: float


STANDARD = ("logistic", "ldep_cv", "hist_gradient_boosting", "extra_trees", "mlp", "rbf_svc", "ldep")
SUITES = {
    "quick": Suite(("logistic", "ldep_cv", "extra_trees"), 60),
    "standard": Suite(STANDARD, 300),
    "full": Suite((*STANDARD, "random_forest", "mlp_tuned", "rbf_svc_tuned"), 3600),
}


@dataclass(frozen=True)
class ChosenModels:
    """The models of a suite for one data set, the estimated seconds of all of them, and of each that is skipped."""

    models: list[str]
    seconds: float
    left_out: dict[str, float]


def candidates(suite: str, params: Params) -> list[str]:
    """The models of a suite that params.yaml has."""
    return [model for model in SUITES[suite].models if model in params.classifiers]


def training_rows(rows: int, params: Params) -> int:
    """The rows that a model of one fold is fitted on."""
    return rows - rows // params.split.folds


def mean_training_rows(partition: Partition) -> int:
    """The same for folds that exist already, which may differ in size."""
    return int(np.mean([partition.train_rows(fold).sum() for fold in range(partition.n_folds)]))


def choose(
    suite: str, params: Params, rows: int, features: int, timings: Mapping[str, Timing] | None = None
) -> ChosenModels:
    """Choose models for a data set of this size, with the folds, the tuning and the processes of params.yaml.

    The first model of the suite, the cheapest, always stays.
    """
    workers = pools.job_count(params.execution)
    folds = params.split.folds * params.split.repeats
    choice = ChosenModels([], 0.0, {})
    for model in candidates(suite, params):
        entry, fitted = params.classifiers[model], training_rows(rows, params)
        timing = (timings or {}).get(model) or estimated(entry, params.tuning, fitted, features)
        seconds = folds * (timing.fit + trial_count(entry, params.tuning) * timing.trial) / workers
        if choice.models and choice.seconds + seconds > SUITES[suite].seconds:
            choice.left_out[model] = seconds
        else:
            choice = ChosenModels([*choice.models, model], choice.seconds + seconds, choice.left_out)
    return choice


def fit_seconds(entry: Classifier, rows: int, features: int) -> float:
    """Estimated CPU seconds of one fit with the settings of params.yaml."""
    return _seconds(entry, settings_for(entry, {}, rows, features), rows, features)


def trial_seconds(entry: Classifier, tuning: Tuning, rows: int, features: int) -> float:
    """Estimated CPU seconds of one trial of a study on some training rows."""
    inner_rows = int(rows * (1 - 1 / tuning.folds))
    settings = settings_for(entry, entry.while_tuning, inner_rows, features)
    return PRUNED * tuning.folds * _seconds(entry, settings, inner_rows, features)


def trial_count(entry: Classifier, tuning: Tuning) -> int:
    """The trials of each study of a model; 0 without one of its own."""
    return (entry.trials or tuning.trials) if entry.is_tuned else 0


def estimated(entry: Classifier, tuning: Tuning, rows: int, features: int) -> Timing:
    """What a model costs that has no pilot."""
    return Timing(fit_seconds(entry, rows, features), trial_seconds(entry, tuning, rows, features))


def _seconds(entry: Classifier, settings: Settings, rows: int, features: int) -> float:
    return COSTS.get(entry.class_.rpartition(".")[2], _OTHER)(rows, features, settings)


def _linear(start: float, per_row: float, per_cell: float) -> Estimate:
    def seconds(rows: int, features: int, settings: Settings) -> float:
        return start + rows * (per_row + per_cell * features)

    return seconds


def _quadratic(per_pair: float, per_product: float) -> Estimate:
    def seconds(rows: int, features: int, settings: Settings) -> float:
        return 0.01 + (per_pair + per_product * features) * rows**2

    return seconds


def _svc(rows: int, features: int, settings: Settings) -> float:
    """The number of support vectors grows with the rows, and so does the cost of each iteration."""
    kind = _quadratic(1e-8, 1.7e-9) if settings.get("kernel") == "linear" else _quadratic(7e-9, 7e-10)
    return kind(rows, features, settings)


def _trees(per_split: float) -> Estimate:
    def seconds(rows: int, features: int, settings: Settings) -> float:
        return float(settings.get("n_estimators", 100) * (1e-3 + per_split * rows * features**0.5))

    return seconds


def _mlp(rows: int, features: int, settings: Settings) -> float:
    return float(0.1 + settings.get("max_iter", 200) * rows * (2e-6 + 2.5e-8 * features))


def _ldep(rows: int, features: int, settings: Settings) -> float:
    r1, r2, starts = settings.get("r1", 20), settings.get("r2", 20), settings.get("n_init", 1)
    if settings.get("solver") in ("ccp", "dccp"):
        return float(starts * ccp_seconds(rows, features, r1, r2))
    tolerance = settings.get("tol")
    share = 1.0 if tolerance is not None and tolerance < LOOSE else 0.35
    return float(share * starts * (0.03 + rows * (r1 + r2) * (1.3e-6 + 3e-8 * features)))


_OTHER = _linear(0.1, 0.0, 1e-5)
COSTS: Mapping[str, Estimate] = {
    "SVC": _svc,
    "NuSVC": _svc,
    "RDEPClassifier": _quadratic(5e-8, 4e-9),
    "LogisticRegression": _linear(0.01, 0.0, 5e-8),
    "ExtraTreesClassifier": _trees(2e-7),
    "RandomForestClassifier": _trees(9e-7),
    "HistGradientBoostingClassifier": _linear(0.3, 0.0, 5e-7),
    "LGBMClassifier": _linear(0.1, 0.0, 1e-6),
    "CatBoostClassifier": _linear(2.0, 0.0, 1e-5),
    "ExplainableBoostingClassifier": ebm_seconds,
    "MLPClassifier": _mlp,
    "MaxoutClassifier": _linear(0.1, 2.5e-4, 2e-6),
    "DilationPerceptron": _linear(0.02, 0.0, 1.5e-6),
    "ErosionPerceptron": _linear(0.02, 0.0, 1.5e-6),
    "DEPClassifier": _linear(0.04, 0.0, 2.5e-6),
    "LDEPClassifier": _ldep,
    "LDEPClassifierCV": _linear(0.8, 2.5e-4, 9e-6),
}
