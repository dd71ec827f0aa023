"""From a problem to its best solution: run the solver from several starts and keep the lowest objective."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ldep.pieces.base import within_bounds
from ldep.problem import P, Problem
from ldep.solvers import SOLVERS, Solution
from ldep.threads import single_thread

# What every solver takes; its other parameters are its options.
SHARED_PARAMETERS = {"problem", "theta", "max_iter", "tol", "verbose"}


def check_options(solver: str, options: dict | None) -> dict:
    """The options for a solver, or an error that lists those it has."""
    options = dict(options or {})
    known = set(inspect.signature(SOLVERS[solver]).parameters) - SHARED_PARAMETERS
    unknown = sorted(set(options) - known)
    if unknown:
        valid = f"it has {sorted(known)}" if known else "it has none"
        raise ValueError(f"solver_options: the solver {solver!r} has no option {unknown[0]!r}; {valid}.")
    return options


def best_of_starts(
    problem: Problem[P],
    starts: Sequence[Callable[[Problem[P], np.random.Generator], np.ndarray]],
    rng: np.random.Generator,
    *,
    solver: str,
    options: dict,
    max_iter: int | None,
    tol: float | None,
    verbose: int,
    estimator: str,
) -> Solution:
    """Solve a problem from every start, and warn when the best solution has not converged.

    Parameters
    ----------
    problem : Problem
        The training problem.
    starts : sequence of callables
        Functions (problem, rng) -> theta.
    rng : numpy.random.Generator
        Source of the starts.
    solver : str
        Name of the solver.
    options : dict
        Its options.
    max_iter, tol, verbose
        What every solver takes; None is its own default.
    estimator : str
        Name of the estimator, for messages.

    Returns
    -------
    solution : Solution
        The lowest objective; the first of equal ones.
    """
    best: Solution | None = None
    if tol is not None:
        options = {**options, "tol": tol}
    with single_thread():
        for number, start in enumerate(starts, 1):
            theta = within_bounds(problem.pieces, start(problem, rng))
            solution = SOLVERS[solver](problem, theta, max_iter=max_iter, verbose=verbose, **options)
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
