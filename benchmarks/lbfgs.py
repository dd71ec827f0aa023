"""What our own L-BFGS gains over scipy's L-BFGS-B in annealing: CPU time, evaluations and objective on 12 problems."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
from scipy import optimize
from tqdm import tqdm

from benchmarks import data
from benchmarks.report import Report
from ldep.conditioning import condition
from ldep.initialization import linear_starts
from ldep.pieces import LinearPieces
from ldep.problem import Problem
from ldep.samples import Samples
from ldep.solvers import _lbfgs, anneal, smoothing
from ldep.threads import single_thread

SIZES = [(200, 5), (200, 20), (500, 5), (500, 30), (1000, 10), (1000, 30)]
SIZES += [(2000, 5), (2000, 20), (3000, 10), (3000, 30), (5000, 10), (5000, 30)]
ALPHAS = (0.0, 0.1, 1.0)
PIECES = (10, 10)
STARTS = 4
REPEATS = 3
# Objectives that differ by less than this share are equal: both methods stop where five iterations gain a thousandth.
EQUAL = 1e-3


def scipy_minimize(
    function: _lbfgs.Function,
    x: np.ndarray,
    *,
    max_iter: int,
    memory: int = 10,
    bounds: _lbfgs.Bounds | None = None,
    after: Callable[[float], bool] | None = None,
) -> np.ndarray:
    """scipy's L-BFGS-B with the parameters of ours. It ends by the same rule: its own tolerances are zero."""

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
        options={"maxcor": memory, "maxiter": max_iter, "maxfun": 100 * max_iter, "ftol": 0.0, "gtol": 0.0},
    )
    return result.x


class Outcome(NamedTuple):
    """One method on one problem: seconds and evaluations of all starts, and their mean and lowest objective."""

    cpu_seconds: float
    evaluations: int
    mean: float
    best: float


def measure(problem: Problem[LinearPieces], thetas: list[np.ndarray], minimize: Callable) -> Outcome:
    """Anneal from every start with one of the two methods."""
    evaluations = 0

    class Counted(smoothing.SmoothedObjective):
        def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal evaluations
            evaluations += 1
            return super().__call__(theta)

    with mock.patch.object(smoothing, "minimize", minimize), mock.patch.object(smoothing, "SmoothedObjective", Counted):
        started = time.process_time()
        objectives = [anneal.solve(problem, theta).objective for theta in thetas]
        seconds = time.process_time() - started
    return Outcome(seconds, evaluations, float(np.mean(objectives)), min(objectives))


def compare(number: int, size: tuple[int, int]) -> dict:
    """One row of the table."""
    m, n = size
    alpha = ALPHAS[number % len(ALPHAS)]
    X, y = data.synthetic(3000 + number, m, n)
    problem = condition(Samples(X, 2.0 * y - 1.0, np.ones(m)), PIECES, alpha)[0]
    rng = np.random.default_rng(number)
    thetas = [start(problem, rng) for start in linear_starts("auto", STARTS, problem)]
    # In turn, so that other work on the machine disturbs both alike.
    runs = [[measure(problem, thetas, method) for method in (_lbfgs.minimize, scipy_minimize)] for _ in range(REPEATS)]
    ours, scipys = (min(outcomes) for outcomes in zip(*runs))
    return {
        "rows": m,
        "features": n,
        "alpha": alpha,
        "our_seconds": ours.cpu_seconds,
        "scipy_seconds": scipys.cpu_seconds,
        "times_faster": scipys.cpu_seconds / ours.cpu_seconds,
        "our_evaluations": ours.evaluations,
        "scipy_evaluations": scipys.evaluations,
        "our_mean_objective": ours.mean,
        "scipy_mean_objective": scipys.mean,
        "our_best_objective": ours.best,
        "scipy_best_objective": scipys.best,
    }


def run() -> Report:
    report = Report("lbfgs", "Our L-BFGS against scipy's L-BFGS-B")
    with single_thread():
        measure(*_small_problem(), scipy_minimize)  # imports and caches
        table = pd.DataFrame([compare(*item) for item in enumerate(tqdm(SIZES, desc="lbfgs", unit="problem"))])
    report.table("problems", table)
    total = table["scipy_seconds"].sum() / table["our_seconds"].sum()
    report.claim("times faster, all problems together", total, "> 1", total > 1)
    median, least = table["times_faster"].median(), table["times_faster"].min()
    report.claim("times faster, the median", median, "> 1", median > 1)
    report.claim("times faster, the least", least, "(for comparison)", least > 1)
    for kind in ("mean", "best"):
        ours, scipys = table[f"our_{kind}_objective"], table[f"scipy_{kind}_objective"]
        higher = int((ours > scipys * (1 + EQUAL)).sum())
        lower = int((scipys > ours * (1 + EQUAL)).sum())
        text = f"{kind} objective of {STARTS} starts: problems where it is lower, less those where it is higher"
        report.claim(text, lower - higher, ">= 0", lower >= higher)
    report.note(
        f"Synthetic problems with {PIECES[0]} pieces per maximum, {STARTS} starts each, the same for both. Both "
        "methods end a temperature by the same rule, and scipy's own tolerances are zero. CPU seconds of "
        f"one process with one BLAS thread, the fastest of {REPEATS} runs. Objectives that differ "
        f"by less than {EQUAL:g} of their value count as equal."
    )
    return report


def _small_problem() -> tuple[Problem[LinearPieces], list[np.ndarray]]:
    X, y = data.synthetic(0, 100, 3)
    problem = condition(Samples(X, 2.0 * y - 1.0, np.ones(len(X))), (2, 2), 0.1)[0]
    return problem, [np.random.default_rng(0).normal(size=problem.pieces.n_parameters)]
