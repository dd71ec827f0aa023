"""What a solver is: it owns its options, says what it needs of a problem, and returns a solution."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ldep._utils import CentredRows, single_thread
from ldep.training import P, Pieces, Problem, has_affine_pieces, n_classes_of, within_bounds


class Need(NamedTuple):
    """What a solver needs of a problem: whether one has it, how to say so, and what to do where it is missing."""

    holds: Callable[[Problem[Pieces]], bool]
    text: str
    remedy: str


DENSE_ROWS = Need(
    lambda problem: not isinstance(problem.X, CentredRows),
    "a dense X, and X is sparse",
    "Pass X.toarray(), or use solver='anneal' without polish.",
)
TWO_CLASSES = Need(
    lambda problem: n_classes_of(problem.pieces) == 2, "two classes, and there are more", "Use solver='anneal'."
)
HINGE = Need(
    lambda problem: problem.loss == "hinge",
    "loss='hinge', and the loss is another one",
    "Pass loss='hinge', or use solver='anneal' without polish.",
)
AFFINE_PIECES = Need(
    has_affine_pieces, "an ℓ-DEP, whose pieces have slopes of their own", "Use solver='anneal' or 'ccp'."
)
NO_PENALTY = Need(lambda problem: not problem.ridge.any(), "alpha = 0", "Use the engine 'auto' with a penalty.")


@dataclass(frozen=True)
class Solver(ABC):
    """Base class of solvers. The fields of a subclass are its options, which estimators take as `solver_options`."""

    # Whether it is so fast that alpha="auto" may train a few more models with it.
    fast: ClassVar[bool] = False

    @property
    def needs(self) -> tuple[Need, ...]:
        """What these options need of a problem."""
        return ()

    def resumed(self) -> Solver:
        """The same solver for a theta that solves a similar problem."""
        return self

    def check(self, problem: Problem[Any]) -> None:
        """Refuse a problem that lacks what the solver needs."""
        for need in self.needs:
            if not need.holds(problem):
                raise self._lacking(need)

    def check_loss(self, loss: str) -> None:
        """Refuse a loss that the solver cannot minimise, before there is a problem."""
        if loss != "hinge" and HINGE in self.needs:
            raise self._lacking(HINGE)

    def _lacking(self, need: Need) -> ValueError:
        return ValueError(f"The solver {type(self).__name__.lower()!r} needs {need.text}. {need.remedy}")

    @abstractmethod
    def solve(
        self,
        problem: Problem[Any],
        theta: np.ndarray,
        *,
        max_iter: int | None = None,
        tol: float | None = None,
        verbose: int = 0,
    ) -> Solution:
        """Minimise F.

        Parameters
        ----------
        problem : Problem
            The training problem. It has what the solver needs.
        theta : ndarray of shape (n_parameters,)
            Where to start.
        max_iter : int, default=None
            Largest number of iterations; None is the solver's own default.
        tol : float, default=None
            Relative decrease of the objective below which the solver stops; None is the solver's own default.
        verbose : int, default=0
            1 prints every tenth iteration, 2 prints each one.

        Returns
        -------
        solution : Solution
            The solution.
        """


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

    def solution(self, theta: np.ndarray, objective: float, *, converged: bool, advice: str = "") -> Solution:
        """The result of a solver with this course."""
        history = {"objective": self.objective, "seconds": self.seconds}
        return Solution(theta, objective, history, len(self.objective), converged, advice)


def best_of_starts(
    problem: Problem[P],
    starts: Sequence[Callable[[Problem[P], np.random.Generator], np.ndarray]],
    rng: np.random.Generator,
    *,
    solver: Solver,
    max_iter: int | None,
    tol: float | None,
    verbose: int,
    estimator: str,
) -> Solution:
    """Solve a problem from every start, and warn when the best solution has not converged.

    A problem that lacks what the solver needs is refused. `estimator` is a name for messages.
    """
    solver.check(problem)
    best: Solution | None = None
    with single_thread():
        for number, start in enumerate(starts, 1):
            theta = within_bounds(problem.pieces, start(problem, rng))
            solution = solver.solve(problem, theta, max_iter=max_iter, tol=tol, verbose=verbose)
            if verbose:
                print(f"[{estimator}] start {number} of {len(starts)}: objective {solution.objective:.6g}")
            if best is None or solution.objective < best.objective:
                best = solution
            if best.objective == 0.0:
                break
    assert best is not None
    if not best.converged:
        warnings.warn(
            f"{estimator} did not converge in {best.n_iter} iterations: {best.advice}.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return best
