"""The training problem over rows that are read again in each pass and are never in memory together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ldep.coordinates import Coordinates
from ldep.pieces import LinearPieces
from ldep.problem import FiniteSumProblem, margins
from ldep.solvers.smoothing import CHUNK, FINAL_TEMPERATURE, descend
from ldep.solvers.solution import Log, Solution

Batches = Iterable[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class StreamedProblem(FiniteSumProblem[LinearPieces]):
    """F divided by the number of rows, in the solver's coordinates.

    It is the mean and not the sum because its gradient then has the size of a step, and the first line search does not
    have to look for one.

    Parameters
    ----------
    batches : iterable of (X, y)
        The rows in the user's coordinates, with y as in `Problem`. Each iteration must yield the same rows.
    n_rows : int
        Number of rows in all batches together.
    coordinates : Coordinates
        The map from the user's coordinates to the solver's.
    pieces : LinearPieces
        The scores as functions of theta, in the solver's coordinates.
    ridge : ndarray
        Weight of the squared slopes, divided by the number of rows.
    """

    batches: Batches
    n_rows: int
    coordinates: Coordinates
    pieces: LinearPieces
    ridge: np.ndarray

    def chunks(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Iterate over X, y and weight in one pass, at most `size` rows at a time."""
        seen = 0
        weight = np.full(size, 1.0 / self.n_rows, dtype=np.float32)
        for X, y in self.batches:
            seen += len(X)
            for first in range(0, len(X), size):
                rows = slice(first, first + size)
                Z = self.coordinates.transform(X[rows] - self.coordinates.mean).astype(np.float32)
                yield Z, y[rows].astype(np.float32), weight[: len(Z)]
        if seen != self.n_rows:
            raise ValueError(
                f"The batches had {self.n_rows} rows in the first pass and {seen} in a later one. Every pass must "
                "yield the same rows."
            )

    def objective(self, theta: np.ndarray) -> float:
        """The mean objective, in one pass."""
        hinge = 0.0
        for X, y, _ in self.chunks(CHUNK):
            margin = margins(self.pieces, self.pieces.scores(theta, X), y)
            hinge += float(np.maximum(0.0, 1.0 - margin).sum(dtype=np.float64))
        return hinge / self.n_rows + self.penalty(theta)[0]


def refine(problem: StreamedProblem, theta: np.ndarray, *, max_iter: int, tol: float, verbose: int) -> Solution:
    """Descend from theta at the last temperature of the annealing solver, with one pass per evaluation."""
    log = Log(verbose, "passes")
    theta, converged = descend(problem, theta, FINAL_TEMPERATURE, max_iter=max_iter, tol=tol, total_weight=1.0, log=log)
    return Solution(
        theta=theta,
        objective=problem.objective(theta),
        history=log.history(),
        n_iter=len(log.objective),
        converged=converged,
        advice="increase max_iter or tol",
    )
