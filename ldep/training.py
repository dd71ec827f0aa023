"""From a problem to its best solution: conditioning, starts, solver, the lowest objective of all starts."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ldep.problem import Problem
from ldep.solvers import SOLVERS, Solution
from ldep.threads import single_thread

SHARED = {"problem", "theta", "max_iter", "tol", "verbose"}


def check_options(solver: str, options: dict | None) -> dict:
    """The options of a solver, or an error that lists those it has."""
    options = dict(options or {})
    known = set(inspect.signature(SOLVERS[solver]).parameters) - SHARED
    unknown = sorted(set(options) - known)
    if unknown:
        has = f"it has {sorted(known)}" if known else "it has none"
        raise ValueError(f"solver_options: the solver {solver!r} has no option {unknown[0]!r}; {has}.")
    return options


def best_of(
    problem: Problem,
    starts: list[Callable[[], np.ndarray]],
    solver: str,
    options: dict,
    *,
    max_iter: int | None,
    tol: float,
    verbose: int,
    estimator: str,
) -> Solution:
    """Solve from every start and keep the lowest objective (the first, of equal ones)."""
    best: Solution | None = None
    with single_thread():
        for number, start in enumerate(starts, 1):
            solution = SOLVERS[solver](problem, start(), max_iter=max_iter, tol=tol, verbose=verbose, **options)
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
