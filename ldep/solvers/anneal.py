"""The fast default: smooth the problem at a temperature, lower the temperature, follow with L-BFGS.

The smooth problem at a high temperature has few stationary points, and each later one starts from the last solution, as
in deterministic annealing [1]_. At the last temperature the maxima are exact. `ldep/solvers/smoothing.py` has the
smoothing.

The first temperature depends on the penalty. When it is too low, the start decides the outcome. When it is too high, a
penalty makes all pieces of a group equal, and no later temperature separates them again: `first_temperature` was fitted
to where that happens.

With one piece per maximum the problem is convex: the interior-point method of `ccp` solves it exactly, where that is
affordable. Badly conditioned problems such as Hill-Valley need it.

References
----------
.. [1] K. Rose, "Deterministic annealing for clustering, compression, classification, regression, and related
   optimization problems", Proceedings of the IEEE 86 (1998), 2210-2239.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldep.pieces.base import Pieces, is_affine_in_theta
from ldep.problem import Problem
from ldep.solvers import _interior, ccp
from ldep.solvers.smoothing import FINAL_TEMPERATURE, descend
from ldep.solvers.solution import Log, Solution
from ldep.sparse_rows import CentredRows

# Shares of max_iter: three temperatures from the first one down to WARM, spaced evenly in their logarithms, and the
# final one.
SHARES = (1 / 6, 1 / 4, 1 / 3, 1 / 4)
HOT, WARM = 2.0, 0.15
# The tolerance by default, and the first temperature for a share of the penalty of 1: with two maxima, and with more.
# Those for more were chosen on the problems of `benchmarks/development_classes.py`: with them a low first temperature
# overfits, and the last digits of the objective cost time for nothing.
TOL, TOL_OF_MANY = 2e-2, 5e-2
FIRST, FIRST_OF_MANY = 0.1, 0.5
# Operations of a step of the interior-point method, for one piece per maximum, up to which it is affordable.
EXACT_FLOPS = 5e8
# Weights beyond this, or below its inverse, are scaled: sums of losses in float32 would overflow.
LARGEST_WEIGHT = 1e12
# Largest share by which an iteration of the polish may lower the objective and still be the last.
POLISH_TOL = 1e-3
FLOAT32_MAX = float(np.finfo(np.float32).max)


def solve(
    problem: Problem[Pieces],
    theta: np.ndarray,
    *,
    max_iter: int | None = None,
    tol: float | None = None,
    verbose: int = 0,
    polish: bool = False,
    resume: bool = False,
) -> Solution:
    """Minimise F by annealing.

    Parameters
    ----------
    problem : Problem
        The training problem.
    theta : ndarray of shape (n_parameters,)
        Where to start.
    max_iter : int, default=None
        Largest number of L-BFGS iterations over all temperatures; None is 480.
    tol : float, default=None
        A temperature ends when five iterations together lower the objective by less than this share of it. None is 0.02
        for two maxima, and 0.05 for more.
    verbose : int, default=0
        1 prints every tenth iteration, 2 prints each one.
    polish : bool, default=False
        Whether to end with the bare convex-concave procedure, towards a local minimum. Its tolerance is at most 1e-3.
    resume : bool, default=False
        Whether theta solves a similar problem. The temperatures that would undo it are then left out, and the result is
        not worse than theta.

    Returns
    -------
    solution : Solution
        The solution at the last temperature.
    """
    if tol is None:
        tol = TOL if len(problem.pieces.group_sizes) == 2 else TOL_OF_MANY
    if _has_exact_method(problem) and _interior.step_flops(problem) <= EXACT_FLOPS:
        return ccp.solve(problem, theta, tol=tol, verbose=verbose)
    max_iter = 480 if max_iter is None else max_iter
    scale = _weight_scale(problem)
    single = Problem(
        single_precision(problem.X),
        problem.y.astype(np.float32),
        (scale * problem.weight).astype(np.float32),
        problem.pieces,
        scale * problem.ridge,
    )
    log = Log(verbose, "anneal")
    first, start = first_temperature(problem), theta
    schedule = list(zip((first, np.sqrt(first * WARM), WARM, FINAL_TEMPERATURE), SHARES))
    for temperature, share in schedule[2:] if resume else schedule:
        theta, converged = descend(
            single,
            theta,
            temperature,
            max_iter=max(1, round(share * max_iter)),
            tol=tol,
            total_weight=(scale * problem.weight).sum(),
            log=log,
        )
    log.objective = [value / scale for value in log.objective]
    solution = Solution(
        theta=theta,
        objective=problem.objective(theta),
        history=log.history(),
        n_iter=len(log.objective),
        converged=converged,
        advice="increase max_iter or tol",
    )
    if resume and (objective := problem.objective(start)) < solution.objective:
        solution = replace(solution, theta=start, objective=objective)
    return _polished(problem, solution, tol, verbose) if polish else solution


def _has_exact_method(problem: Problem[Pieces]) -> bool:
    """Whether the problem is convex, and its samples are dense, as the interior-point method needs them."""
    return is_affine_in_theta(problem.pieces) and not isinstance(problem.X, CentredRows)


def single_precision(X: np.ndarray | CentredRows) -> np.ndarray | CentredRows:
    """The samples in float32; values beyond its range become its largest one."""
    if isinstance(X, CentredRows):
        return X.astype(np.float32)
    return np.clip(X, -FLOAT32_MAX, FLOAT32_MAX).astype(np.float32, order="C")


def _weight_scale(problem: Problem[Pieces]) -> float:
    """A power of two that brings weights which float32 cannot hold to a size of about 1; else 1."""
    largest = problem.weight.max()
    return 1.0 if 1.0 / LARGEST_WEIGHT <= largest <= LARGEST_WEIGHT else float(2.0 ** -np.floor(np.log2(largest)))


def first_temperature(problem: Problem[Pieces]) -> float:
    """The first temperature: 2 without a penalty, lower with one; higher for more than two maxima than for two.

    It depends on kappa, the share of the penalty in the curvature of F, averaged over directions by their variance.
    """
    share = problem.ridge * sum(problem.pieces.group_sizes) / problem.weight.sum()
    variance = 1.0 - share
    if not problem.ridge.any() or variance.sum() <= 0:
        return HOT
    kappa = variance @ share / variance.sum()
    if kappa <= 0:  # underflow
        return HOT
    first = FIRST if len(problem.pieces.group_sizes) == 2 else FIRST_OF_MANY
    return float(np.clip(first / np.sqrt(kappa), WARM, HOT))


def _polished(problem: Problem[Pieces], solution: Solution, tol: float, verbose: int) -> Solution:
    """The solution after the convex-concave procedure, with the histories of both."""
    exact = ccp.solve(problem, solution.theta, tol=min(tol, POLISH_TOL), verbose=verbose, n_kicks=0)
    offset = solution.history["seconds"][-1] if solution.n_iter else 0.0
    exact.history = {
        "objective": solution.history["objective"] + exact.history["objective"],
        "seconds": solution.history["seconds"] + [offset + seconds for seconds in exact.history["seconds"]],
    }
    exact.n_iter += solution.n_iter
    return exact
