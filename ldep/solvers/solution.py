"""What a solver hands back."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Solution:
    theta: np.ndarray
    objective: float
    history: dict[str, list[float]]
    n_iter: int
    converged: bool
    advice: str = ""
    """What to change, when it has not converged."""


@dataclass
class Log:
    """The objective and the seconds since the start, one entry an iteration."""

    verbose: int = 0
    label: str = ""
    objective: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def add(self, objective: float) -> None:
        self.objective.append(float(objective))
        self.seconds.append(time.perf_counter() - self.began)
        if self.verbose and (self.verbose > 1 or len(self.objective) % 10 == 1):
            print(
                f"[{self.label}] iteration {len(self.objective)}: objective {objective:.6g}, {self.seconds[-1]:.2f} s"
            )

    def history(self) -> dict[str, list[float]]:
        return {"objective": self.objective, "seconds": self.seconds}
