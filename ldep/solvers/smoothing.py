"""The smoothed training problem at one temperature, and the descent on it.

At temperature T the maxima become T log sum exp(./T), and the hinge its Huber form of width T: smooth upper and lower
approximations in the sense of Nesterov [1]_, which approach F as T goes to zero; `smooth_loss` has them. The annealing
solver descends at
several temperatures, the streaming fit at the last one only.

The scores are in the precision of the samples (the solvers use float32), the loss is summed in float64, and samples go
through in chunks that fit in the processor's cache.

References
----------
.. [1] Y. Nesterov, "Smooth minimization of non-smooth functions", Mathematical Programming 103 (2005), 127-152.
"""

from __future__ import annotations

import numpy as np

from ldep.pieces.base import Pieces
from ldep.problem import FiniteSumProblem
from ldep.solvers._lbfgs import minimize
from ldep.solvers.smooth_loss import ManyMaxima, TwoMaxima
from ldep.solvers.solution import Log

# The last temperature. The maxima are exact there, and only the hinge is smoothed.
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
    """Minimise the smoothed objective by L-BFGS.

    Parameters
    ----------
    problem : FiniteSumProblem
        The problem to smooth.
    theta : ndarray of shape (n_parameters,)
        Where to start.
    temperature : float
        Width of the smoothing. At `FINAL_TEMPERATURE` the maxima are exact.
    max_iter : int
        Largest number of iterations.
    tol : float
        The descent ends when its last iterations together lower the objective by less than this share of it.
    total_weight : float
        Sum of the sample weights.
    log : Log
        Receives the exact objective after each iteration.

    Returns
    -------
    theta : ndarray of shape (n_parameters,)
        The parameters at the end.
    converged : bool
        Whether the descent ended by itself.
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

    Parameters
    ----------
    tol : float
        Least gain, as a share of the value.
    least_gain : float
        Least gain where that share is smaller still.
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

    Parameters
    ----------
    problem : FiniteSumProblem
        The problem to smooth.
    temperature : float
        Width of the smoothing.
    exact_maxima : bool
        Whether only the hinge is smoothed.

    Attributes
    ----------
    exact : float
        F, without smoothing, where it was last evaluated.
    """

    def __init__(self, problem: FiniteSumProblem[Pieces], temperature: float, *, exact_maxima: bool):
        self.problem = problem
        self.T = temperature
        loss = TwoMaxima if len(problem.pieces.group_sizes) == 2 else ManyMaxima
        self.loss = loss(problem.pieces, temperature, exact_maxima=exact_maxima)
        self.exact = np.inf

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        # A trial step may be so long that its scores overflow. The line search refuses a value that is not a number.
        with np.errstate(over="ignore", invalid="ignore"):
            return self._evaluate(theta)

    def _evaluate(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        problem, value, exact = self.problem, 0.0, 0.0
        gradient = np.zeros_like(theta)
        for X, y, weight in problem.chunks(CHUNK):
            chunk = self.loss(problem.pieces.scores(theta, X), y, weight)
            value += chunk.smooth
            exact += chunk.exact
            gradient += problem.pieces.pullback(chunk.gradient, X[chunk.rows])
        penalty, slope = problem.penalty(theta)
        self.exact = exact + penalty
        gradient += slope
        return value / self.T + penalty, gradient
