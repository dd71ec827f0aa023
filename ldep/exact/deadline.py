"""The time limit of a search."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np


class OutOfTime(Exception):
    """A projection was stopped by the time limit, so that nothing is known about it."""


@dataclass(frozen=True)
class Deadline:
    """The time at which a search stops, as `time.perf_counter` counts it."""

    at: float = np.inf

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.perf_counter() + seconds)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.at - time.perf_counter()

    def check(self) -> None:
        """Raise OutOfTime if the time is over."""
        if self.left <= 0:
            raise OutOfTime
