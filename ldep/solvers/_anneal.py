"""The fast default: smooth the problem at a temperature, lower the temperature, follow with L-BFGS.

The smooth problem at a high temperature has few stationary points, and each later one starts from the last solution, as
in deterministic annealing [1]_. At the last temperature the maxima are exact. `_smoothing` smooths.

The first temperature depends on the penalty. When it is too low, the start decides the outcome. When it is too high, a
penalty makes all pieces of a group equal, and no later temperature separates them again: `first_temperature` was fitted
to where that happens.

With one piece per maximum the problem is convex, and temperatures do nothing for it: the descent at the last one is
enough. The hinge of two classes has an exact method, the interior-point method of `ccp`, which is used where that is
affordable: badly conditioned problems such as Hill-Valley need it.

.. [1] K. Rose, "Deterministic annealing for clustering, compression, classification, regression, and related
   optimization problems", Proceedings of the IEEE 86 (1998), 2210-2239.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldep._utils import CentredRows
from ldep.solvers._base import DENSE_ROWS, HINGE, TWO_CLASSES, Log, Need, Solution, Solver
from ldep.solvers._ccp import Ccp
from ldep.solvers._interior import step_flops
from ldep.solvers._smoothing import FINAL_TEMPERATURE, descend
from ldep.training import P, Pieces, Problem, is_affine_in_theta, n_classes_of

# Shares of max_iter: three temperatures from the first one down to WARM, spaced evenly in their logarithms, and the
# final one.
SHARES = (1 / 6, 1 / 4, 1 / 3, 1 / 4)
HOT, WARM = 2.0, 0.15
ONE_DESCENT = [(FINAL_TEMPERATURE, 1.0)]
MAX_ITER = 480
# The tolerance by default, and the first temperature for a share of the penalty of 1: with two classes, and with more,
# where a low first temperature overfits, and the last digits of the objective cost time for nothing.
TOL, TOL_OF_MANY = 2e-2, 5e-2
FIRST, FIRST_OF_MANY = 0.1, 0.5
# Operations of a step of the interior-point method, for one piece per maximum, up to which it is affordable.
EXACT_FLOPS = 5e8
# Weights beyond this, or below its inverse, are scaled: sums of losses in float32 would overflow.
LARGEST_WEIGHT = 1e12
# Largest share by which an iteration of the polish may lower the objective and still be the last.
POLISH_TOL = 1e-3
FLOAT32_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Anneal(Solver):
    """Annealing.

    `polish` ends with the bare convex-concave procedure, towards a local minimum; its tolerance is at most 1e-3.
    `resume` says that theta solves a similar problem: the temperatures that would undo it are left out, and the result
    is not worse than theta. `hot_rows` is the largest number of rows that the first two temperatures see: of more, a
    sample is enough to say where the pieces go. None is all rows.
    """

    fast = True
    polish: bool = False
    resume: bool = False
    hot_rows: int | None = None

    def __post_init__(self) -> None:
        if self.hot_rows is not None and self.hot_rows < 1:
            raise ValueError(f"solver_options: hot_rows={self.hot_rows!r} is not a positive number of rows, or None.")

    @property
    def needs(self) -> tuple[Need, ...]:
        return (DENSE_ROWS, TWO_CLASSES, HINGE) if self.polish else ()

    def resumed(self) -> Anneal:
        return replace(self, resume=True)

    def solve(
        self,
        problem: Problem[Pieces],
        theta: np.ndarray,
        *,
        max_iter: int | None = None,
        tol: float | None = None,
        verbose: int = 0,
    ) -> Solution:
        """Minimise F. `max_iter` counts L-BFGS iterations over all temperatures; None is 480.

        A temperature ends when five iterations together lower the objective by less than `tol` of it. None is 0.02 for
        two classes, and 0.05 for more.
        """
        if tol is None:
            tol = TOL if n_classes_of(problem.pieces) == 2 else TOL_OF_MANY
        convex = is_affine_in_theta(problem.pieces)
        if convex and has_exact_method(problem) and step_flops(problem) <= EXACT_FLOPS:
            return Ccp().solve(problem, theta, tol=tol, verbose=verbose)
        first, start, log = first_temperature(problem), theta, Log(verbose, "anneal")
        schedule = list(zip((first, np.sqrt(first * WARM), WARM, FINAL_TEMPERATURE), SHARES))
        if convex and problem.loss == "logistic":
            schedule = ONE_DESCENT
        elif self.resume:
            schedule = schedule[2:]
        elif self.hot_rows is not None and self.hot_rows < len(problem.weight):
            sample = sample_of(problem, self.hot_rows)
            theta = cool(sample, theta, schedule[:2], max_iter=max_iter, tol=tol, log=log).theta
            schedule, log = schedule[2:], Log(verbose, "anneal")
        solution = cool(problem, theta, schedule, max_iter=max_iter, tol=tol, log=log)
        if self.resume and (objective := problem.objective(start)) < solution.objective:
            solution = replace(solution, theta=start, objective=objective)
        return _polished(problem, solution, tol, verbose) if self.polish else solution


def has_exact_method(problem: Problem[Pieces]) -> bool:
    """Whether the exact methods take the problem."""
    return problem.loss == "hinge" and n_classes_of(problem.pieces) == 2 and not isinstance(problem.X, CentredRows)


def sample_of(problem: Problem[P], n_rows: int) -> Problem[P]:
    """The problem of every k-th row, at most `n_rows` of them, with the total weight of all."""
    # `merge` has sorted the rows by a random projection, and not by anything that the model could depend on.
    rows = np.linspace(0, len(problem.weight) - 1, n_rows).astype(np.intp)
    weight = problem.weight[rows]
    weight = weight * (problem.weight.sum() / weight.sum())
    return replace(problem, X=problem.X[rows], y=problem.y[rows], weight=weight)


def cool(
    problem: Problem[Pieces],
    theta: np.ndarray,
    schedule: Sequence[tuple[float, float]],
    *,
    max_iter: int | None,
    tol: float,
    log: Log,
) -> Solution:
    """Descend from theta at one temperature after the other, each with its share of `max_iter`; None is 480."""
    max_iter = MAX_ITER if max_iter is None else max_iter
    scale = weight_scale(problem.weight)
    single = Problem(
        single_precision(problem.X),
        problem.y.astype(np.float32),
        (scale * problem.weight).astype(np.float32),
        problem.pieces,
        scale * problem.ridge,
        problem.loss,
    )
    converged, total_weight = True, (scale * problem.weight).sum()
    for temperature, share in schedule:
        iterations = max(1, round(share * max_iter))
        theta, converged = descend(
            single, theta, temperature, max_iter=iterations, tol=tol, total_weight=total_weight, log=log
        )
    log.objective = [value / scale for value in log.objective]
    return log.solution(theta, problem.objective(theta), converged=converged, advice="increase max_iter or tol")


def single_precision(X: np.ndarray | CentredRows) -> np.ndarray | CentredRows:
    """The samples in float32; values beyond its range become its largest one."""
    if isinstance(X, CentredRows):
        return X.astype(np.float32)
    return np.clip(X, -FLOAT32_MAX, FLOAT32_MAX).astype(np.float32, order="C")


def weight_scale(weight: np.ndarray) -> float:
    """A power of two that brings weights which float32 cannot hold to a size of about 1; else 1."""
    largest = weight.max()
    return 1.0 if 1.0 / LARGEST_WEIGHT <= largest <= LARGEST_WEIGHT else float(2.0 ** -np.floor(np.log2(largest)))


def first_temperature(problem: Problem[Pieces]) -> float:
    """The first temperature: 2 without a penalty, lower with one; higher for more than two classes than for two.

    It depends on kappa, the share of the penalty in the curvature of F, averaged over directions by their variance.
    """
    share = problem.ridge * sum(problem.pieces.group_sizes) / problem.weight.sum()
    variance = 1.0 - share
    if not problem.ridge.any() or variance.sum() <= 0:
        return HOT
    kappa = variance @ share / variance.sum()
    if kappa <= 0:  # underflow
        return HOT
    first = FIRST if n_classes_of(problem.pieces) == 2 else FIRST_OF_MANY
    return float(np.clip(first / np.sqrt(kappa), WARM, HOT))


def _polished(problem: Problem[Pieces], solution: Solution, tol: float, verbose: int) -> Solution:
    """The solution after the convex-concave procedure, with the histories of both."""
    exact = Ccp(n_kicks=0).solve(problem, solution.theta, tol=min(tol, POLISH_TOL), verbose=verbose)
    offset = solution.history["seconds"][-1] if solution.n_iter else 0.0
    exact.history = {
        "objective": solution.history["objective"] + exact.history["objective"],
        "seconds": solution.history["seconds"] + [offset + seconds for seconds in exact.history["seconds"]],
    }
    exact.n_iter += solution.n_iter
    return exact
