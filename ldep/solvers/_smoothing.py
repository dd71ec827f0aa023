"""The smoothed training problem at one temperature, and the descent on it.

At temperature T the maxima become T log sum exp(./T), and the hinge its Huber form of width T: smooth upper and lower
approximations in the sense of Nesterov [1]_, which approach F as T goes to zero. The logistic loss is smooth already.
The annealing solver descends at several temperatures, the streaming fit at the last one only.

The loss of a chunk of samples is a callable (scores, y, weight) -> ChunkLoss. `TwoMaxima` is the one for two classes,
`Differences` the one for more. The maxima can stay exact in both.

The scores are in the precision of the samples (the solvers use float32), the loss is summed in float64, and samples go
through in chunks that fit in the processor's cache.

.. [1] Y. Nesterov, "Smooth minimization of non-smooth functions", Mathematical Programming 103 (2005), 127-152.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize
from scipy.special import expit

from ldep.solvers._base import Log
from ldep.training import FiniteSumProblem, Loss, Pieces, groups, n_classes_of

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


class ChunkLoss(NamedTuple):
    """The loss of a chunk."""

    smooth: float  # T times the smoothed loss
    exact: float  # the loss without smoothing
    gradient: np.ndarray  # of the smoothed loss in the scores, of shape (n_pieces, n_rows)


class TwoMaxima:
    """The smoothed loss of two maxima, a function of y tau. With exact maxima only the hinge is smoothed."""

    def __init__(self, pieces: Pieces, temperature: float, loss: Loss, *, exact_maxima: bool):
        self.dilation, self.erosion = groups(pieces)
        self.T = temperature
        self.exact_loss, self.smooth_loss = MARGIN_LOSSES[loss]
        self.margins = self._exact_margins if exact_maxima else self._smooth_margins

    def __call__(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> ChunkLoss:
        """The loss of a chunk; its scores are overwritten."""
        smooth_margin, margin, G = self.margins(scores, y)
        smooth, pull = self.smooth_loss(smooth_margin, weight, self.T)
        G *= pull
        return ChunkLoss(smooth, self.exact_loss(margin, weight), G)

    def _smooth_margins(self, scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The smooth margin, the margin, and the derivative of the first in the scores, which are overwritten by it."""
        u, v = scores[self.dilation], scores[self.erosion]
        top_u, top_v = np.maximum.reduce(u), np.maximum.reduce(v)
        u -= top_u
        v -= top_v
        scores *= 1.0 / self.T
        np.exp(scores, out=scores)
        sum_u, sum_v = np.add.reduce(u), np.add.reduce(v)
        tau = top_u - top_v
        smooth_tau = tau + self.T * np.log(sum_u / sum_v)
        u /= sum_u * y
        v /= sum_v * -y
        return y * smooth_tau, y * tau, scores

    def _exact_margins(self, scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The margin, the margin again, and a subgradient of it in the scores, which are overwritten by it."""
        columns = np.arange(scores.shape[1])
        i = scores[self.dilation].argmax(axis=0)
        j = self.erosion.start + scores[self.erosion].argmax(axis=0)
        margin = y * (scores[i, columns] - scores[j, columns])
        scores.fill(0.0)
        scores[i, columns] = y
        scores[j, columns] = -y
        return margin, margin, scores


class Differences:
    """The smoothed loss of more than two classes, each with the difference of two maxima as its score.

    With the hinge the largest score of the other classes is smoothed too, unless the maxima are exact.
    """

    def __init__(self, pieces: Pieces, temperature: float, loss: Loss, *, exact_maxima: bool):
        self.groups, self.n_classes = groups(pieces), n_classes_of(pieces)
        self.T = temperature
        self.exact_maxima = exact_maxima
        self.loss_of = self._hinge if loss == "hinge" else self._logistic

    def __call__(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> ChunkLoss:
        """The loss of a chunk; its scores are overwritten."""
        own = y.astype(np.intp), np.arange(len(y))
        tops = np.array([np.maximum.reduce(scores[group]) for group in self.groups])
        exact_scores = self._of_classes(tops)
        if self.exact_maxima:
            exact, smooth, pull = self.loss_of(exact_scores, exact_scores, own, weight)
            return ChunkLoss(smooth, exact, self._subgradient(scores, pull))
        sums = np.empty_like(tops)
        for number, group in enumerate(self.groups):
            scores[group] -= tops[number]
            scores[group] *= 1.0 / self.T
            np.exp(scores[group], out=scores[group])
            np.add.reduce(scores[group], out=sums[number])
        smooth_scores = self._of_classes(tops + self.T * np.log(sums))
        exact, smooth, pull = self.loss_of(exact_scores, smooth_scores, own, weight)
        factors = np.concatenate([pull, -pull]) / sums
        for number, group in enumerate(self.groups):
            scores[group] *= factors[number]
        return ChunkLoss(smooth, exact, scores)

    def _of_classes(self, maxima: np.ndarray) -> np.ndarray:
        """The scores of the classes from the maxima."""
        return maxima[: self.n_classes] - maxima[self.n_classes :]

    def _hinge(
        self, exact: np.ndarray, smooth: np.ndarray, own: tuple[np.ndarray, np.ndarray], weight: np.ndarray
    ) -> tuple[float, float, np.ndarray]:
        """The loss of exact scores, T times that of smooth ones, and the derivative of its smooth form in these."""
        rivals = exact.copy()
        rivals[own] = -np.inf
        loss = hinge(exact[own] - np.maximum.reduce(rivals), weight)
        if not self.exact_maxima:
            rivals = smooth.copy()
            rivals[own] = -np.inf
        top = np.maximum.reduce(rivals)
        if self.exact_maxima:
            shares, rival = np.zeros_like(rivals), top
            shares[rivals.argmax(axis=0), own[1]] = 1.0
        else:
            shares = np.exp((rivals - top) / self.T)
            total = np.add.reduce(shares)
            shares /= total
            rival = top + self.T * np.log(total)
        value, pull = huber(smooth[own] - rival, weight, self.T)
        shares *= -pull
        shares[own] = pull
        return loss, value, shares

    def _logistic(
        self, exact: np.ndarray, smooth: np.ndarray, own: tuple[np.ndarray, np.ndarray], weight: np.ndarray
    ) -> tuple[float, float, np.ndarray]:
        """The loss of exact scores, T times that of smooth ones, and the derivative of the latter in these."""
        value, shares = softmax_loss(smooth, own, weight)
        loss = value if smooth is exact else softmax_loss(exact, own, weight)[0]
        shares[own] -= 1.0
        shares *= weight
        return loss, self.T * value, shares

    def _subgradient(self, scores: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """A subgradient in the scores of the pieces, which it overwrites, from the derivative in those of classes."""
        columns = np.arange(scores.shape[1])
        active = [group.start + scores[group].argmax(axis=0) for group in self.groups]
        scores.fill(0.0)
        for piece, values in zip(active, (*pull, *-pull)):
            scores[piece, columns] = values
        return scores


def softmax_loss(
    scores: np.ndarray, own: tuple[np.ndarray, np.ndarray], weight: np.ndarray
) -> tuple[float, np.ndarray]:
    """The weighted multinomial logistic loss, summed in double precision, and the softmax of the scores."""
    lead = scores - np.maximum.reduce(scores)
    shares = np.exp(lead)
    total = np.add.reduce(shares)
    value = float((weight * (np.log(total) - lead[own])).sum(dtype=np.float64))
    shares /= total
    return value, shares


def huber(margin: np.ndarray, weight: np.ndarray, width: float) -> tuple[float, np.ndarray]:
    """`width` times the weighted Huber form of the hinge, and the derivative of that form in each margin."""
    slack = 1.0 - margin
    ramp = np.minimum(np.maximum(slack, 0.0), width)
    pull = weight * ramp
    slack -= 0.5 * ramp
    slack *= pull
    value = float(slack.sum(dtype=np.float64))
    pull *= -1.0 / width
    return value, pull


def hinge(margin: np.ndarray, weight: np.ndarray) -> float:
    """The weighted hinge loss, summed in double precision."""
    return float((weight * np.maximum(1.0 - margin, 0.0)).sum(dtype=np.float64))


def logistic(margin: np.ndarray, weight: np.ndarray) -> float:
    """The weighted logistic loss, summed in double precision."""
    return float((weight * np.logaddexp(0.0, -margin)).sum(dtype=np.float64))


def scaled_logistic(margin: np.ndarray, weight: np.ndarray, width: float) -> tuple[float, np.ndarray]:
    """`width` times the weighted logistic loss, and the derivative of the loss in each margin."""
    return width * logistic(margin, weight), -weight * expit(-margin)


SmoothLoss = Callable[[np.ndarray, np.ndarray, float], tuple[float, np.ndarray]]
# The loss of margins with weights, and its smooth form at a temperature.
MARGIN_LOSSES: dict[Loss, tuple[Callable[[np.ndarray, np.ndarray], float], SmoothLoss]] = {
    "hinge": (hinge, huber),
    "logistic": (logistic, scaled_logistic),
}
