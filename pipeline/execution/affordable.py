"""An estimate of the CPU time of one fit, by the class of the model and the size of its training rows.

Its unit is a second of the machine that it was measured on: a 2.6 GHz core, one thread, make_classification with noise.
Real data differ by a factor of three either way. It is used for what can bear that: to announce how long training will
take, until finished fits tell it better, and to leave out models that a data set is too large for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pipeline.fitting.budget import ccp_seconds

Settings = Mapping[str, Any]
Cost = Callable[[int, int, Settings], float]
"""Seconds of a fit for a number of rows, of features, and the settings of the model."""


def fit_seconds(class_path: str, settings: Settings, rows: int, features: int) -> float:
    """Estimated CPU seconds of one fit. Classes that are not in the table count as one with a linear cost."""
    return COSTS.get(class_path.rpartition(".")[2], _other)(rows, features, settings)


def _linear(start: float, per_cell: float) -> Cost:
    def seconds(rows: int, features: int, settings: Settings) -> float:
        return start + per_cell * rows * features

    return seconds


_other = _linear(0.1, 1e-5)


def _svc(rows: int, features: int, settings: Settings) -> float:
    """The number of support vectors grows with the rows, and so does the cost of each iteration."""
    return 0.01 + (1.5e-8 + 1e-9 * features) * rows**2


def _trees(per_split: float) -> Cost:
    def seconds(rows: int, features: int, settings: Settings) -> float:
        trees = settings.get("n_estimators", 100)
        return trees * (1e-3 + per_split * rows * features**0.5)

    return seconds


def _mlp(rows: int, features: int, settings: Settings) -> float:
    epochs = settings.get("max_iter", 200)
    return 0.2 + epochs * rows * (4e-6 + 4e-8 * features)


def _ldep(rows: int, features: int, settings: Settings) -> float:
    r1, r2 = settings.get("r1", 10), settings.get("r2", 10)
    starts = settings.get("n_init", 1)
    if settings.get("solver") in ("ccp", "dccp"):
        return starts * ccp_seconds(rows, features, r1, r2)
    return starts * (0.02 + 5e-8 * rows * (features + 1) * (r1 + r2))


def _ldep_cv(rows: int, features: int, settings: Settings) -> float:
    return 0.5 + 1e-5 * rows * features


COSTS: Mapping[str, Cost] = {
    "SVC": _svc,
    "NuSVC": _svc,
    "LogisticRegression": _linear(0.01, 5e-8),
    "ExtraTreesClassifier": _trees(1.6e-7),
    "RandomForestClassifier": _trees(1.2e-6),
    "HistGradientBoostingClassifier": _linear(0.2, 5e-7),
    "MLPClassifier": _mlp,
    "MaxoutClassifier": _mlp,
    "LDEPClassifier": _ldep,
    "LDEPClassifierCV": _ldep_cv,
}
