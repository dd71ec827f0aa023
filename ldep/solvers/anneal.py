"""The fast default: smooth the two maxima and the hinge at a temperature T, lower T, follow with L-BFGS.

At temperature T both maxima become T log sum exp(./T), and the hinge its Huber form of width T. The smooth problem at a
high temperature has few stationary points; each later one starts from the last solution. At the lowest temperature the
maxima are exact. The scores are float32 (the loss is summed in float64), and samples go through in chunks that fit in
the processor's cache.

The first temperature depends on the penalty. Too low, and the start decides the outcome. Too high, and a penalty makes
all pieces of a group equal, from where no later temperature parts them again: `hottest` was fitted to where that
happens.

With one piece each the problem is convex: the interior-point method of `ccp` solves it exactly, where that can be
afforded. Badly conditioned problems such as Hill-Valley need it.
"""

from __future__ import annotations

import numpy as np

from ldep.problem import Problem, Summed
from ldep.solvers import _interior, ccp
from ldep.solvers._lbfgs import minimize
from ldep.solvers.solution import Log, Solution

# Shares of max_iter: three temperatures from the hottest down to WARM, spaced evenly in their logarithms, and COLD.
SHARES = (1 / 6, 1 / 4, 1 / 3, 1 / 4)
HOT, WARM, COLD = 2.0, 0.15, 0.02
MEMORY = 10
# A mean loss below this is close enough to zero: what is gained is compared with it then.
NEAR_ZERO = 0.1
CHUNK = 4096
# Operations of a step of the interior-point method, for one piece each, up to which it is affordable.
EXACT_FLOPS = 5e8


def solve(
    problem: Problem,
    theta: np.ndarray,
    *,
    max_iter: int | None = None,
    tol: float = 1e-3,
    verbose: int = 0,
    polish: bool = False,
) -> Solution:
    """Minimise F from theta. `max_iter` counts L-BFGS iterations over all temperatures (default 480).

    `polish` ends with the bare convex-concave procedure, towards a local minimum.
    """
    if problem.pieces.r1 == problem.pieces.r2 == 1 and _interior.step_flops(problem) <= EXACT_FLOPS:
        return ccp.solve(problem, theta, tol=tol, verbose=verbose)
    max_iter = 480 if max_iter is None else max_iter
    single = Problem(
        np.ascontiguousarray(problem.X, dtype=np.float32),
        problem.y.astype(np.float32),
        problem.weight.astype(np.float32),
        problem.pieces,
        problem.ridge,
    )
    log = Log(verbose, "anneal")
    first = hottest(problem)
    for temperature, share in zip((first, np.sqrt(first * WARM), WARM, COLD), SHARES):
        smooth = Smoothed(single, temperature, hard=temperature == COLD)
        stage = Stage(smooth, log, tol * NEAR_ZERO * problem.weight.sum(), tol)
        theta = minimize(
            smooth,
            theta,
            max_iter=max(1, round(share * max_iter)),
            memory=MEMORY,
            bounds=problem.pieces.bounds,
            after=stage,
        )
    solution = Solution(
        theta=theta,
        objective=problem.objective(theta),
        history=log.history(),
        n_iter=len(log.objective),
        converged=stage.flat or len(stage.values) < round(share * max_iter),
        advice="increase max_iter or tol",
    )
    return _polished(problem, solution, tol, verbose) if polish else solution


class Stage:
    """Ends a temperature when its last iterations together gained too little."""

    WINDOW = 5

    def __init__(self, smooth: Smoothed, log: Log, least: float, tol: float):
        self.smooth, self.log, self.least, self.tol = smooth, log, least, tol
        self.values: list[float] = []
        self.flat = False

    def __call__(self, value: float) -> bool:
        self.log.add(self.smooth.exact)
        self.values.append(value)
        if len(self.values) > self.WINDOW:
            gained = self.values[-1 - self.WINDOW] - value
            self.flat = gained <= max(self.tol * value, self.least)
        return self.flat


def hottest(problem: Problem) -> float:
    """The first temperature: 2 without a penalty, less with one.

    kappa is the share of the penalty in the curvature of F, averaged over directions by their variance.
    """
    share = problem.ridge * (problem.pieces.r1 + problem.pieces.r2) / problem.weight.sum()
    variance = 1.0 - share
    if not problem.ridge.any() or variance.sum() <= 0:
        return HOT
    kappa = variance @ share / variance.sum()
    return float(np.clip(0.1 / np.sqrt(kappa), WARM, HOT))


def _polished(problem: Problem, solution: Solution, tol: float, verbose: int) -> Solution:
    exact = ccp.solve(problem, solution.theta, tol=tol, verbose=verbose, n_kicks=0)
    offset = solution.history["seconds"][-1] if solution.n_iter else 0.0
    exact.history = {
        "objective": solution.history["objective"] + exact.history["objective"],
        "seconds": solution.history["seconds"] + [offset + seconds for seconds in exact.history["seconds"]],
    }
    exact.n_iter += solution.n_iter
    return exact


class Smoothed:
    """The smoothed objective and its gradient; `exact` is F where it was last evaluated."""

    def __init__(self, problem: Summed, temperature: float, hard: bool):
        self.problem = problem
        self.T = temperature
        self.hard = hard
        self.exact = np.inf

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        problem, value, hinge = self.problem, 0.0, 0.0
        gradient = np.zeros_like(theta)
        for X, y, weight in problem.chunks(CHUNK):
            scores = problem.pieces.scores(theta, X)
            smooth_tau, tau, G = (self._hard if self.hard else self._soft)(scores)
            slack = 1.0 - y * smooth_tau
            ramp = np.minimum(np.maximum(slack, 0.0), self.T)
            pull = weight * ramp
            slack -= 0.5 * ramp
            slack *= pull
            value += float(slack.sum(dtype=np.float64))
            hinge += float((weight * np.maximum(1.0 - y * tau, 0.0)).sum(dtype=np.float64))
            pull *= y
            pull *= -1.0 / self.T
            G *= pull
            gradient += problem.pieces.pullback(G, X)
        penalty, slope = problem.penalty(theta)
        self.exact = hinge + penalty
        gradient += slope
        return value / self.T + penalty, gradient

    def _soft(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The smooth tau, tau, and the derivative of the first by the scores (which are overwritten)."""
        r1 = self.problem.pieces.r1
        u, v = scores[:r1], scores[r1:]
        top_u, top_v = np.maximum.reduce(u), np.maximum.reduce(v)
        u -= top_u
        v -= top_v
        scores *= 1.0 / self.T
        np.exp(scores, out=scores)
        sum_u, sum_v = np.add.reduce(u), np.add.reduce(v)
        tau = top_u - top_v
        smooth = tau + self.T * np.log(sum_u / sum_v)
        u /= sum_u
        v /= -sum_v
        return smooth, tau, scores

    def _hard(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r1, columns = self.problem.pieces.r1, np.arange(scores.shape[1])
        i, j = scores[:r1].argmax(axis=0), r1 + scores[r1:].argmax(axis=0)
        tau = scores[i, columns] - scores[j, columns]
        scores.fill(0.0)
        scores[i, columns] = 1.0
        scores[j, columns] = -1.0
        return tau, tau, scores
