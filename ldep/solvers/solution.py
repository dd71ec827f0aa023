"""What a solver returns."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Solution:
    """The result of a solver.

    Attributes
    ----------
    theta : ndarray of shape (n_parameters,)
        The parameters.
    objective : float
        F(theta).
    history : dict
        "objective" and "seconds", one entry per iteration.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the solver stopped by itself, rather than at `max_iter`.
    advice : str
        What the user can change when it has not converged.
    """

    theta: np.ndarray
    objective: float
    history: dict[str, list[float]]
    n_iter: int
    converged: bool
    advice: str = ""


@dataclass
class Log:
    """The course of a solver: the objective and the seconds since the start, one entry per iteration.

    Parameters
    ----------
    verbose : int, default=0
        1 prints every tenth iteration, 2 prints each one.
    label : str, default=""
        Name of the solver, for the printed lines.
    """

    verbose: int = 0
    label: str = ""
    objective: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def add(self, objective: float) -> None:
        """Record the objective after an iteration."""
        self.objective.append(float(objective))
        self.seconds.append(time.perf_counter() - self.started)
        if self.verbose and (self.verbose > 1 or len(self.objective) % 10 == 1):
            print(
                f"[{self.label}] iteration {len(self.objective)}: objective {objective:.6g}, {self.seconds[-1]:.2f} s"
            )

    def history(self) -> dict[str, list[float]]:
        """The record, as estimators publish it."""
        return {"objective": self.objective, "seconds": self.seconds}
