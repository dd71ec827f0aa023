"""The smoothed training problem at one temperature, and the descent on it.

At temperature T the maxima become T log sum exp(./T), and the hinge its Huber form of width T: smooth upper and lower
approximations in the sense of Nesterov [1]_, which approach F as T goes to zero; `_smooth_loss` has them. The annealing
solver descends at several temperatures, the streaming fit at the last one only.

The scores are in the precision of the samples (the solvers use float32), the loss is summed in float64, and samples go
through in chunks that fit in the processor's cache.

.. [1] Y. Nesterov, "Smooth minimization of non-smooth functions", Mathematical Programming 103 (2005), 127-152.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import optimize

from ldep.solvers._base import Log
from ldep.solvers._smooth_loss import Differences, TwoMaxima
from ldep.training import FiniteSumProblem, Pieces, n_classes_of

# The last temperature. The maxima are exact there, and at most the hinge is smoothed.
FINAL_TEMPERATURE = 0.02
CHUNK = 4096
# Pairs that L-BFGS remembers.
MEMORY = 10
# A mean loss below this counts as zero: gains are then compared with it and not with the loss.
NEGLIGIBLE_MEAN_LOSS = 0.1


def descend(
    problem: FiniteSumProblem[Pieces],
    theta: np.ndarray,
    temperature: float,
    *,
    max_iter: int,
    tol: float,
    total_weight: float,
    log: Log,
) -> tuple[np.ndarray, bool]:
    """Minimise the smoothed objective by L-BFGS, and say whether the descent ended by itself.

    It does when its last iterations together lower the objective by less than the share `tol` of it. At
    `FINAL_TEMPERATURE` the maxima are exact. `log` receives the exact objective after each iteration.
    """
    smoothed = SmoothedObjective(problem, temperature, exact_maxima=temperature == FINAL_TEMPERATURE)
    plateau = PlateauRule(tol, tol * NEGLIGIBLE_MEAN_LOSS * total_weight)

    def after_iteration(value: float) -> bool:
        log.add(smoothed.exact)
        return plateau.update(value)

    theta = minimize(
        smoothed, theta, max_iter=max_iter, memory=MEMORY, bounds=problem.pieces.bounds, after=after_iteration
    )
    return theta, plateau.reached or len(plateau.values) < max_iter


class PlateauRule:
    """Stop rule: the last iterations together gained too little.

    Too little is at most the share `tol` of the value, or `least_gain` if that is more.
    """

    WINDOW = 5

    def __init__(self, tol: float, least_gain: float):
        self.tol, self.least_gain = tol, least_gain
        self.values: list[float] = []
        self.reached = False

    def update(self, value: float) -> bool:
        """Add the value after an iteration, and say whether to stop."""
        self.values.append(value)
        if len(self.values) > self.WINDOW:
            gain = self.values[-1 - self.WINDOW] - value
            self.reached = gain <= max(self.tol * value, self.least_gain)
        return self.reached


class SmoothedObjective:
    """The smoothed objective and its gradient, as a function of theta.

    With exact maxima at most the hinge is smoothed. `exact` is F, without smoothing, where it was last evaluated.
    """

    def __init__(self, problem: FiniteSumProblem[Pieces], temperature: float, *, exact_maxima: bool):
        self.problem = problem
        self.T = temperature
        smooth_loss = TwoMaxima if n_classes_of(problem.pieces) == 2 else Differences
        self.loss = smooth_loss(problem.pieces, temperature, problem.loss, exact_maxima=exact_maxima)
        self.exact = np.inf

    # A trial step may be so long that its scores overflow. The line search refuses a value that is not a number.
    @np.errstate(over="ignore", invalid="ignore")
    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        problem, value, exact = self.problem, 0.0, 0.0
        gradient = np.zeros_like(theta)
        for X, y, weight in problem.chunks(CHUNK):
            chunk = self.loss(problem.pieces.scores(theta, X), y, weight)
            value += chunk.smooth
            exact += chunk.exact
            gradient += problem.pieces.pullback(chunk.gradient, X)
        penalty, slope = problem.penalty(theta)
        self.exact = exact + penalty
        gradient += slope
        return value / self.T + penalty, gradient


Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
Bounds = tuple[np.ndarray, np.ndarray]

# Evaluations per iteration that a line search may need on average, before the descent is given up.
EVALUATIONS_PER_ITERATION = 25


def minimize(
    function: Function,
    x: np.ndarray,
    *,
    max_iter: int,
    memory: int = 10,
    bounds: Bounds | None = None,
    after: Callable[[float], bool] | None = None,
) -> np.ndarray:
    """Minimise a function, which returns its value and its gradient (or a subgradient), from x by L-BFGS within bounds.

    `memory` is the number of past steps that the Hessian is estimated from. `after` receives the value after each
    iteration, and ends the descent by returning True. No earlier point has a lower value than the last one.
    """

    def callback(intermediate_result: optimize.OptimizeResult) -> None:
        if after is not None and after(float(intermediate_result.fun)):
            raise StopIteration

    result = optimize.minimize(
        function,
        x,
        jac=True,
        method="L-BFGS-B",
        bounds=None if bounds is None else optimize.Bounds(*bounds),
        callback=callback,
        options={
            "maxcor": memory,
            "maxiter": max_iter,
            "maxfun": EVALUATIONS_PER_ITERATION * max_iter,
            "maxls": EVALUATIONS_PER_ITERATION,
            "ftol": 0.0,
            "gtol": 0.0,
        },
    )
    return result.x if bounds is None else np.clip(result.x, *bounds)
