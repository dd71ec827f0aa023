"""What the training rows hold in a column of numbers or dates: their range, their quantiles and their grid."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

MOST_DECIMALS = 6  # more of them are those of a measurement or of a computation, not of a grid
FEW_VALUES = 20
SHARES = np.arange(21) / 20
SAME = 1e-9  # relative difference below which a number counts as one of the grid


@dataclass(frozen=True)
class Range:
    """The numbers of a column, or its moments in seconds since 2000, as the training rows have them.

    Attributes
    ----------
    quantiles : tuple of float
        The smallest value, 19 quantiles at steps of 5 %, and the largest value. All of them are values that occur.
    decimals : int or None
        The fewest decimals with which all values can be written; None if these are more than 6.
    step : float
        All values are the smallest one plus a multiple of the step; 0 if they need more than 6 decimals.
    values : tuple of float
        The different values if they are at most 20, else none.
    """

    quantiles: tuple[float, ...]
    decimals: int | None
    step: float
    values: tuple[float, ...]

    @classmethod
    def of(cls, numbers: np.ndarray) -> Range | None:
        """The range of numbers; None if there is none but NaN."""
        present = numbers[~np.isnan(numbers)]
        if not len(present):
            return None
        distinct = np.unique(present)
        decimals = _decimals(distinct)
        quantiles = np.quantile(present, SHARES, method="lower")  # interpolation between huge values could overflow
        values = distinct.tolist() if len(distinct) <= FEW_VALUES else []
        return cls(tuple(quantiles.tolist()), decimals, _step(distinct, decimals), tuple(values))

    @property
    def least(self) -> float:
        return self.quantiles[0]

    @property
    def largest(self) -> float:
        return self.quantiles[-1]

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self.decimals == 0

    @property
    def two_valued(self) -> bool:
        return len(self.values) == 2

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "quantiles": list(self.quantiles), "values": list(self.values)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Range:
        """Read what `to_json` returned; ValueError, KeyError or TypeError if it is something else."""
        quantiles, values = (tuple(map(float, value[name])) for name in ("quantiles", "values"))
        decimals, step = value["decimals"], float(value["step"])
        is_count = decimals is None or (isinstance(decimals, int) and 0 <= decimals <= MOST_DECIMALS)
        if not all(map(math.isfinite, (*quantiles, *values, step))) or len(quantiles) != len(SHARES) or not is_count:
            raise ValueError(f"{value} is not the range of a column")
        return cls(quantiles, decimals, step, values)


def _decimals(distinct: np.ndarray) -> int | None:
    for decimals in range(MOST_DECIMALS + 1):
        if _on_grid(distinct * 10.0**decimals).all():
            return decimals
    return None


def _on_grid(scaled: np.ndarray) -> np.ndarray:
    size = np.maximum(1.0, np.abs(scaled))
    return (np.abs(scaled - np.rint(scaled)) <= SAME * size) & (size < 1 / SAME)


def _step(distinct: np.ndarray, decimals: int | None) -> float:
    """The largest step of which all differences are multiples; of a single value the unit of its last decimal."""
    if decimals is None:
        return 0.0
    places = np.rint(distinct * 10.0**decimals).astype(np.int64)
    step = int(np.gcd.reduce(places - places[0])) or 1
    return float(f"{step}e-{decimals}")
