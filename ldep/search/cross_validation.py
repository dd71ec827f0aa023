"""Cross-validation of ℓ-DEPs along paths of alphas: the models and their out-of-fold decision values."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from ldep.estimators.ldep import LDEPClassifier
from ldep.samples import Samples, merge
from ldep.search.alpha_path import SharedCoordinates, follow
from ldep.search.splits import Split
from ldep.search.votes import cast_votes
from ldep.solvers import anneal
from ldep.threads import single_thread


class Path(NamedTuple):
    """Settings that differ in alpha only; the alphas are in ascending order."""

    r1: int
    r2: int
    penalty: str
    alphas: tuple[float, ...]

    def params(self) -> list[dict]:
        """Parameters of an LDEPClassifier, one dict per setting."""
        return [{"r1": self.r1, "r2": self.r2, "alpha": alpha, "penalty": self.penalty} for alpha in self.alphas]

    def group_sizes(self, n_classes: int) -> tuple[int, ...]:
        """Number of pieces in each maximum."""
        return (self.r1, self.r2) if n_classes == 2 else (self.r1,) * n_classes


class Fit(NamedTuple):
    """A model of one training part, and its decision values on the test part."""

    model: LDEPClassifier
    decision: np.ndarray
    seconds: float
    converged: bool


@dataclass
class Candidate:
    """One setting, with a fit per split."""

    params: dict
    fits: list[Fit] = field(default_factory=list)


def _by_row(parts: list[np.ndarray], splits: list[Split], n_rows: int) -> np.ndarray:
    total, count = np.zeros((n_rows, *parts[0].shape[1:])), np.zeros(n_rows)
    for values, split in zip(parts, splits):
        np.add.at(total, split.test, values)
        np.add.at(count, split.test, 1.0)
    with np.errstate(invalid="ignore"):
        return total / count.reshape(-1, *[1] * (total.ndim - 1))


@dataclass
class CrossValidation:
    """Fits paths on the training parts of all splits.

    Parameters
    ----------
    rows : Samples
        All rows, in the user's order.
    n_classes : int
        Number of classes.
    splits : list of Split
        The training and test parts.
    smallest_alpha : float
        The smallest alpha of any path.
    seed : int
        Seed of the starts.
    tol, max_iter
        What the solver takes.
    n_jobs : int or None
        Number of processes.
    monotone : ndarray of shape (n_features,), default=None
        The constraints of `condition`.
    """

    rows: Samples
    n_classes: int
    splits: list[Split]
    smallest_alpha: float
    seed: int
    tol: float
    max_iter: int | None
    n_jobs: int | None
    monotone: np.ndarray | None = None
    candidates: list[Candidate] = field(default_factory=list)
    n_paths: int = 0

    @property
    def n_fits(self) -> int:
        """Number of fits so far."""
        return sum(len(candidate.fits) for candidate in self.candidates)

    @property
    def tested(self) -> np.ndarray:
        """Whether a split tests each row."""
        tested = np.zeros(len(self.rows.y), dtype=bool)
        for split in self.splits:
            tested[split.test] = True
        return tested

    def out_of_fold_decisions(self) -> np.ndarray:
        """Decision values for rows that a model has not seen, of shape (n_candidates, n_rows) or, with more than two
        classes, (n_candidates, n_rows, n_classes).

        A row that several splits test gets the mean, one that no split tests gets NaN.
        """
        parts = [[fit.decision for fit in candidate.fits] for candidate in self.candidates]
        return np.array([_by_row(decisions, self.splits, len(self.rows.y)) for decisions in parts])

    def out_of_fold_votes(self) -> np.ndarray:
        """Votes for rows that a model has not seen, in the shape of the decision values."""
        parts = [[cast_votes(fit.decision) for fit in candidate.fits] for candidate in self.candidates]
        return np.array([_by_row(cast, self.splits, len(self.rows.y)) for cast in parts])

    def run(self, paths: list[Path]) -> Iterator[None]:
        """Add the settings of these paths to the candidates, and yield after every few fits.

        The paths with one kind of penalty share the coordinates of a training part, so they are one task.
        """
        numbered = list(enumerate(paths, self.n_paths))
        self.n_paths += len(paths)
        by_path = {number: [Candidate(params) for params in path.params()] for number, path in numbered}
        for number, _ in numbered:
            self.candidates += by_path[number]
        penalties = sorted({path.penalty for path in paths})
        tasks = [
            (split_number, [(number, path) for number, path in numbered if path.penalty == penalty])
            for penalty in penalties
            for split_number in range(len(self.splits))
        ]
        results = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(_fit_paths)(
                *self._task_data(split_number),
                some,
                self.n_classes,
                self.smallest_alpha,
                self.monotone,
                tol=self.tol,
                max_iter=self.max_iter,
            )
            for split_number, some in tasks
        )
        # The results come first, so that joblib's generator ends: it warns of one that is abandoned.
        for fits, (_, some) in zip(results, tasks):
            for number, _ in some:
                for candidate, fit in zip(by_path[number], fits[number]):
                    candidate.fits.append(fit)
            yield

    def _task_data(self, split_number: int) -> tuple[Samples, np.ndarray, list[int]]:
        train, test = self.splits[split_number]
        part = Samples(self.rows.X[train], self.rows.y[train], self.rows.weight[train])
        return part, self.rows.X[test], [self.seed, split_number]


def _fit_paths(
    part: Samples,
    X_test: np.ndarray,
    seeds: list[int],
    paths: list[tuple[int, Path]],
    n_classes: int,
    smallest_alpha: float,
    monotone: np.ndarray | None,
    *,
    tol: float,
    max_iter: int | None,
) -> dict[int, list[Fit]]:
    """Follow numbered paths of one kind of penalty on one training part."""
    fits: dict[int, list[Fit]] = {}
    with single_thread():
        # Multiplying weights and alphas by a power of two changes neither the models nor a bit of them.
        scale = _weight_scale(part.weight)
        part = part._replace(weight=scale * part.weight)
        shared = SharedCoordinates.of(merge(*part), paths[0][1].penalty, scale * smallest_alpha, monotone)
        for number, path in paths:
            rng = np.random.default_rng([*seeds, number])
            group_sizes = path.group_sizes(n_classes)
            alphas = [scale * alpha for alpha in path.alphas]
            solutions = follow(shared, group_sizes, alphas, rng, tol=tol, max_iter=max_iter)
            fits[number] = []
            began = time.perf_counter()
            for params, solution in zip(path.params(), solutions):
                model = LDEPClassifier(**params, init="kmeans", n_init=1, tol=tol, max_iter=max_iter, monotone=monotone)
                model.monotone_ = monotone
                model._set_solution(shared.coordinates, solution.theta, group_sizes)
                model.alpha_, model.objective_ = params["alpha"], solution.objective / scale
                model.history_ = solution.history | {"objective": [v / scale for v in solution.history["objective"]]}
                model.n_iter_ = solution.n_iter
                decision = model._tau(X_test)
                ended = time.perf_counter()
                fits[number].append(Fit(model, decision, ended - began, solution.converged))
                began = ended
    return fits


def _weight_scale(weight: np.ndarray) -> float:
    """A power of two that brings weights of an unusual size to about 1; else 1."""
    largest = weight.max()
    usual = 1.0 / anneal.LARGEST_WEIGHT <= largest <= anneal.LARGEST_WEIGHT
    return 1.0 if usual else float(2.0 ** -np.floor(np.log2(largest)))
