"""Prediction sets of a served model: the classes that a row may have, with a coverage that the client chooses.

They are calibrated on the decision values that `train` keeps of each row, by the fit that had not seen it, in the same
way for every model. The limits of `ldep.model.SetLimits` are stored with the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ldep.model import SetLimits, check_coverage, folded

OUTPUT = "set"
DEFAULTS = {"coverage": 0.9, "classwise": False}
NONE = (
    "The model has no prediction sets: it was registered without decision values of rows that it had not seen. Train "
    "and register it again."
)


class ServedSets(NamedTuple):
    """Limits, and how served decision values become those that were calibrated on.

    `shares`: with more than two classes, whether they are shares of votes, of which the logarithms count. `threshold`:
    with two classes, what is subtracted from served values; it says nothing about the sets.
    """

    limits: SetLimits
    shares: bool
    threshold: float

    @classmethod
    def fit(cls, columns: np.ndarray, y: np.ndarray, classes: np.ndarray, threshold: float = 0.0) -> ServedSets:
        """Calibrate on decision values, one column per class; NaN where no fold tests a row."""
        tested = ~np.isnan(columns).any(axis=1)
        columns, own = columns[tested], np.searchsorted(classes, y[tested])
        shares = columns.shape[1] > 2 and bool(((columns >= 0) & (columns <= 1)).all())
        return cls(SetLimits.of(_comparable(folded(columns), shares), own), shares, threshold)

    def contains(self, values: np.ndarray, coverage: float, classwise: bool = False) -> np.ndarray:
        """Whether the set of each row with these served decision values contains each class, one column per class."""
        return self.limits.contains(_comparable(values + self.threshold, self.shares), coverage, classwise)


def _comparable(values: np.ndarray, shares: bool) -> np.ndarray:
    return np.log(np.maximum(values, np.finfo(float).tiny)) if shares else values


class Request(NamedTuple):
    """What a client asks for."""

    coverage: float
    classwise: bool


def check(params: Mapping[str, Any]) -> Request:
    """What a request asks for; ValueError says what of it is wrong."""
    coverage, classwise = (params.get(name, default) for name, default in DEFAULTS.items())
    try:
        check_coverage(coverage)
    except ValueError as error:
        raise ValueError(f"params.{error}") from None
    if not isinstance(classwise, (bool, np.bool_)):
        raise ValueError(f"params.classwise is {classwise!r}; it must be true or false.")
    return Request(float(coverage), bool(classwise))


def answers(
    sets: ServedSets | None, values: np.ndarray | None, classes: list[str], request: Request, count: int
) -> list[Any]:
    """One answer per row: the classes in its set."""
    if sets is None or values is None:
        return [{"not_available": NONE}] * count
    contains = sets.contains(values, request.coverage, request.classwise)
    return [[classes[place] for place in np.flatnonzero(row)] for row in contains]


def to_json(sets: ServedSets | None) -> dict[str, Any] | None:
    if sets is None:
        return None
    return {
        "overall": _finite(sets.limits.overall),
        "by_class": [_finite(limits) for limits in sets.limits.by_class],
        "shares": sets.shares,
        "threshold": sets.threshold,
    }


def from_json(content: dict[str, Any] | None) -> ServedSets | None:
    """Read what `to_json` wrote; TypeError, KeyError or ValueError for anything else."""
    if content is None:
        return None
    overall, by_class = _read(content["overall"]), np.array([_read(limits) for limits in content["by_class"]])
    if by_class.shape[1:] != overall.shape:
        raise ValueError("limits of prediction sets are missing")
    return ServedSets(SetLimits(overall, by_class), bool(content["shares"]), float(content["threshold"]))


def _finite(limits: np.ndarray) -> list[float | None]:
    """JSON has no infinite numbers."""
    return [value if np.isfinite(value) else None for value in limits.tolist()]


def _read(limits: list[float | None]) -> np.ndarray:
    return np.array([np.inf if value is None else float(value) for value in limits])
