"""The training problem over rows that are read again in each pass and are never in memory together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ldep.solvers._base import Log, Solution
from ldep.solvers._smoothing import CHUNK, FINAL_TEMPERATURE, descend
from ldep.training import Coordinates, FiniteSumProblem, LinearPieces, Loss, losses

Batches = Iterable[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class StreamedProblem(FiniteSumProblem[LinearPieces]):
    """F divided by the number of rows, in the solver's coordinates.

    It is the mean and not the sum because its gradient then has the size of a step, and the first line search does not
    have to look for one. The batches are in the user's coordinates, with y as in `Problem`, and each iteration must
    yield the same rows. The ridge, too, is divided by the number of rows.
    """

    batches: Batches
    n_rows: int
    coordinates: Coordinates
    pieces: LinearPieces
    ridge: np.ndarray
    loss: Loss

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
        total = 0.0
        for X, y, _ in self.chunks(CHUNK):
            total += float(losses(self.pieces, self.pieces.scores(theta, X), y, self.loss).sum(dtype=np.float64))
        return total / self.n_rows + self.penalty(theta)[0]


def refine(problem: StreamedProblem, theta: np.ndarray, *, max_iter: int, tol: float, verbose: int) -> Solution:
    """Descend from theta at the last temperature of the annealing solver, with one pass per evaluation."""
    log = Log(verbose, "passes")
    theta, converged = descend(problem, theta, FINAL_TEMPERATURE, max_iter=max_iter, tol=tol, total_weight=1.0, log=log)
    return log.solution(theta, problem.objective(theta), converged=converged, advice="increase max_iter or tol")


class RunningCovariance:
    """Count, mean and scatter matrix of the rows so far.

    Batches are joined by the pairwise update of Chan, Golub and LeVeque (Updating formulae and a pairwise algorithm for
    computing sample variances, Stanford University, 1979), which loses no digits to large means.
    """

    def __init__(self, n_features: int):
        self.count = 0
        self.mean = np.zeros(n_features)
        self.scatter = np.zeros((n_features, n_features))

    def add(self, X: np.ndarray) -> None:
        """Add a batch of rows."""
        if not len(X):
            return
        mean = X.mean(axis=0)
        centred = X - mean
        shift = mean - self.mean
        total = self.count + len(X)
        self.scatter += centred.T @ centred
        self.scatter += np.outer(shift, shift) * (self.count * len(X) / total)
        self.mean += shift * (len(X) / total)
        self.count = total

    @property
    def variance(self) -> np.ndarray:
        """Variance of each feature."""
        return self.scatter.diagonal() / self.count

    def covariance(self, scale: np.ndarray) -> np.ndarray:
        """Covariance of the features after each is multiplied by its scale."""
        return self.scatter / self.count * np.outer(scale, scale)


class Reservoir:
    """Uniform sample without replacement: each row draws a random key, and the `size` smallest keys stay.

    The k-th row of the stream draws the k-th number of the generator, however the rows are cut into batches. The sample
    therefore depends on the seed and on the order of the rows alone. This is the unweighted case of Efraimidis and
    Spirakis, Weighted random sampling with a reservoir, Information Processing Letters 97 (2006), 181-185.
    """

    def __init__(self, size: int, seed: int):
        self.size, self.seed = size, seed
        self.seen = 0
        self.X, self.y, self.key = np.empty((0, 0)), np.empty(0), np.empty(0)

    def add(self, X: np.ndarray, y: np.ndarray) -> None:
        """Add a batch of rows."""
        bits = np.random.PCG64(self.seed)
        bits.advance(self.seen)
        key = np.random.Generator(bits).random(len(X))
        self.seen += len(X)
        if len(self.key) == self.size:
            below = key < self.key.max()
            X, y, key = X[below], y[below], key[below]
        if not len(self.key):
            self.X, self.y, self.key = X.copy(), y.copy(), key
        elif len(key):
            self.X = np.concatenate([self.X, X])
            self.y = np.concatenate([self.y, y])
            self.key = np.concatenate([self.key, key])
        if len(self.key) > self.size:
            smallest = np.sort(np.argpartition(self.key, self.size)[: self.size])
            self.X, self.y, self.key = self.X[smallest], self.y[smallest], self.key[smallest]
