"""The training problem over rows that are read again in each pass, and never held together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ldep.conditioning import Frame
from ldep.pieces import LinearPieces
from ldep.problem import Summed
from ldep.solvers import anneal
from ldep.solvers._lbfgs import minimize
from ldep.solvers.solution import Log, Solution

Batches = Iterable[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class StreamedProblem(Summed):
    """F divided by the number of rows, in the coordinates of `frame`; y in `batches` is -1 or +1.

    The mean, not the sum: its gradient is of the size of a step, so that the first line search need not look for one.
    """

    batches: Batches
    rows: int
    frame: Frame
    pieces: LinearPieces
    ridge: np.ndarray

    def chunks(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        seen = 0
        weight = np.full(size, 1.0 / self.rows, dtype=np.float32)
        for X, y in self.batches:
            seen += len(X)
            for first in range(0, len(X), size):
                rows = slice(first, first + size)
                Z = self.frame.rotate(X[rows] - self.frame.mean).astype(np.float32)
                yield Z, y[rows].astype(np.float32), weight[: len(Z)]
        if seen != self.rows:
            raise ValueError(f"The batches held {self.rows} rows at first, and {seen} in a later pass.")

    def objective(self, theta: np.ndarray) -> float:
        """The mean objective, in one pass."""
        hinge = 0.0
        for X, y, _ in self.chunks(anneal.CHUNK):
            scores = self.pieces.scores(theta, X)
            tau = scores[: self.pieces.r1].max(axis=0) - scores[self.pieces.r1 :].max(axis=0)
            hinge += float(np.maximum(0.0, 1.0 - y * tau).sum(dtype=np.float64))
        return hinge / self.rows + self.penalty(theta)[0]


def refine(problem: StreamedProblem, theta: np.ndarray, *, max_iter: int, tol: float, verbose: int) -> Solution:
    """Descend from theta at the lowest temperature of `anneal`, with the same stop rule: a pass an evaluation."""
    log = Log(verbose, "passes")
    smooth = anneal.Smoothed(problem, anneal.COLD, hard=True)
    stage = anneal.Stage(smooth, log, tol * anneal.NEAR_ZERO, tol)
    theta = minimize(smooth, theta, max_iter=max_iter, memory=anneal.MEMORY, after=stage)
    return Solution(
        theta=theta,
        objective=problem.objective(theta),
        history=log.history(),
        n_iter=len(log.objective),
        converged=stage.flat or len(stage.values) < max_iter,
        advice="increase max_iter or tol",
    )
