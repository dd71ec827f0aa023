"""Estimates of the CPU time of a fit from the size of the problem alone, for the classes that `budget` can limit.

A clock would give another table on another machine. An estimate is the same everywhere. Its unit is a second of the
machine that it was fitted on: a 2.6 GHz core, one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Estimate = Callable[[int, int, Mapping[str, Any]], float]
"""Seconds of a fit for a number of rows, of features, and the settings of the model."""

# Exact CCP: seconds per element of the stacked S_k, per flop of their product with the stacked x~ x~^T, and per flop of
# the factorisation. On twelve of the paper's data sets the estimate was within a factor of three, except for separable
# problems, which end early (kr-vs-kp: 16 s estimated, 2 s measured).
ELEMENT, PRODUCT, FACTOR = 3e-8, 1e-11, 6e-11

# EBM: seconds per boosting step of a feature, the same per row, per boosting step of a pair of features, and per pair
# that is ranked. On seven of the paper's data sets, with at most 250 rounds, the estimate was within a fifth, except
# for binary features, whose pairs cost less (kr-vs-kp: 1.9 s estimated, 0.6 s measured).
STEP, STEP_ROW, PAIR_STEP, RANKED_PAIR = 2.5e-5, 4e-9, 4.5e-4, 1e-4


EXACT = ("ccp", "dccp")


def ccp_seconds(rows: int, features: int, r1: int, r2: int) -> float:
    """Estimated CPU seconds of one fit by CCP from one start, all subproblems together."""
    pieces, width = r1 + r2, features + 1
    size = pieces * width
    elements = rows * pieces * (pieces + 1) / 2
    step = ELEMENT * elements + PRODUCT * elements * width * (width + 1) + FACTOR * size**3 / 3
    # Few rows per parameter can be separated by the first or second subproblem; many rows take long.
    steps = min(max(150 * rows / size, 30), 1500)
    return steps * step


def ebm_seconds(rows: int, features: int, settings: Mapping[str, Any]) -> float:
    """Estimated CPU seconds of one fit of EBM. With `interactions`, each bag ranks all pairs of features."""
    bags, rounds = settings.get("outer_bags", 14), settings.get("max_rounds", 50_000)
    seconds = rounds * features * (STEP + STEP_ROW * rows)
    boosted = _boosted_pairs(settings.get("interactions", "3x"), features)
    if boosted:
        pairs = features * (features - 1) / 2
        seconds += RANKED_PAIR * pairs + PAIR_STEP * rounds * min(boosted, pairs)
    return float(0.05 + bags * seconds)


def _boosted_pairs(interactions: Any, features: int) -> float:
    """How many pairs EBM adds: it takes a list of them, their number, a share of the features, or 3x of them."""
    if isinstance(interactions, list):
        return len(interactions)
    if isinstance(interactions, str):
        return float(interactions.removesuffix("x")) * features
    return interactions * features if interactions < 1 else interactions


def _ldep_seconds(rows: int, features: int, settings: Mapping[str, Any]) -> float:
    """Only exact CCP can take long: the other solvers fit into any budget."""
    if settings.get("solver") not in EXACT:
        return 0.0
    return ccp_seconds(rows, features, settings.get("r1", 20), settings.get("r2", 20))


ESTIMATES: Mapping[str, Estimate] = {
    "LDEPClassifier": _ldep_seconds,
    "ExplainableBoostingClassifier": ebm_seconds,
}


def has_estimate(class_path: str) -> bool:
    return _name(class_path) in ESTIMATES


def estimated_seconds(class_path: str, rows: int, features: int, settings: Mapping[str, Any]) -> float:
    """Estimated CPU seconds of one fit of a class that has an estimate."""
    return ESTIMATES[_name(class_path)](rows, features, settings)


def takes(class_path: str, settings: Mapping[str, Any], classes: int) -> bool:
    """Whether the settings allow so many classes: exact solvers of the ℓ-DEP take two."""
    return classes == 2 or _name(class_path) != "LDEPClassifier" or settings.get("solver") not in EXACT


def _name(class_path: str) -> str:
    return class_path.rpartition(".")[2]
