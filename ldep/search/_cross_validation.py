"""Cross-validation of ℓ-DEPs along paths of alphas: the models and their out-of-fold decision values.

Decision values of the two losses have different sizes: the hinge ends at the margin 1, where the logistic loss goes on.
A model of the logistic loss votes with a quarter of its decision value, so that one that is sure by a margin of 4, or
98 %, has a whole vote.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from ldep._utils import single_thread
from ldep.model import Maxima, SetLimits, cast_votes
from ldep.search._alpha_path import SharedCoordinates, follow
from ldep.search._splits import Split
from ldep.solvers import Solution, weight_scale
from ldep.training import Loss, Samples, group_sizes_of, merge, own_class

# What the decision values of each loss are multiplied with before they are votes.
VOTE_SCALE: dict[Loss, float] = {"hinge": 1.0, "logistic": 0.25}


class Path(NamedTuple):
    """Settings that differ in alpha only; the alphas are in ascending order."""

    r1: int
    r2: int
    penalty: str
    loss: Loss
    alphas: tuple[float, ...]

    @classmethod
    def of(cls, params: dict) -> Path:
        """The path of one setting alone."""
        return cls(params["r1"], params["r2"], params["penalty"], params["loss"], (params["alpha"],))

    def params(self) -> list[dict]:
        """Parameters of an LDEPClassifier, one dict per setting."""
        shared = {"r1": self.r1, "r2": self.r2, "penalty": self.penalty, "loss": self.loss}
        return [shared | {"alpha": alpha} for alpha in self.alphas]


class Fit(NamedTuple):
    """A model of one training part, how its training went, and its decision values on the test part."""

    model: Maxima
    decision: np.ndarray
    seconds: float
    solution: Solution
    loss: Loss

    @property
    def voter(self) -> Maxima:
        """The model as it votes."""
        scale = VOTE_SCALE[self.loss]
        return self.model if scale == 1.0 else self.model.scaled(scale)

    @property
    def scaled(self) -> np.ndarray:
        """The decision values on the test part of the model as it votes."""
        return VOTE_SCALE[self.loss] * self.decision

    @property
    def votes(self) -> np.ndarray:
        """The votes on the test part."""
        return cast_votes(self.scaled)


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
    """Fits paths on the training parts of all splits, with the constraints `monotone` of `condition`."""

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
    def own(self) -> np.ndarray:
        """Number of the class of each row."""
        return own_class(self.rows.y, self.n_classes)

    @property
    def tested(self) -> np.ndarray:
        """Whether a split tests each row."""
        tested = np.zeros(len(self.rows.y), dtype=bool)
        for split in self.splits:
            tested[split.test] = True
        return tested

    def out_of_fold_decisions(self) -> np.ndarray:
        """Decision values for rows that a model has not seen, of shape (n_candidates, n_rows, [n_classes]).

        A row that several splits test gets the mean, one that no split tests gets NaN.
        """
        return self._out_of_fold(lambda fit: fit.decision)

    def out_of_fold_votes(self) -> np.ndarray:
        """Votes for rows that a model has not seen, in the shape of the decision values."""
        return self._out_of_fold(lambda fit: fit.votes)

    def out_of_fold_scaled(self) -> np.ndarray:
        """Decision values of the models as they vote, for rows that they have not seen."""
        return self._out_of_fold(lambda fit: fit.scaled)

    def set_limits(self, decision: np.ndarray) -> SetLimits:
        """The limits of prediction sets from out-of-fold decision values of all rows."""
        used = self.tested & (self.rows.weight > 0)
        return SetLimits.of(decision[used], self.own[used], self.rows.weight[used])

    def _out_of_fold(self, values_of: Callable[[Fit], np.ndarray]) -> np.ndarray:
        parts = [[values_of(fit) for fit in candidate.fits] for candidate in self.candidates]
        return np.array([_by_row(values, self.splits, len(self.rows.y)) for values in parts])

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
        results = self._fit_tasks(tasks)
        # The results come first, so that joblib's generator ends: it warns of one that is abandoned.
        for fits, (_, some) in zip(results, tasks):
            for number, _ in some:
                for candidate, fit in zip(by_path[number], fits[number]):
                    candidate.fits.append(fit)
            yield

    def run_once(self, settings: Sequence[dict]) -> list[Fit]:
        """One fit per split, each with a setting of its own."""
        paths = [Path.of(params) for params in settings]
        results = self._fit_tasks([(number, [(self.n_paths + number, path)]) for number, path in enumerate(paths)])
        return [fits[self.n_paths + number][0] for number, fits in enumerate(results)]

    def votes_of(self, fits: Sequence[Fit]) -> np.ndarray:
        """The votes of one fit per split for the rows that it has not seen."""
        return _by_row([fit.votes for fit in fits], self.splits, len(self.rows.y))

    def scaled_of(self, fits: Sequence[Fit]) -> np.ndarray:
        """The decision values of one fit per split, as it votes, for the rows that it has not seen."""
        return _by_row([fit.scaled for fit in fits], self.splits, len(self.rows.y))

    def _fit_tasks(self, tasks: list[tuple[int, list[tuple[int, Path]]]]) -> Iterator[dict[int, list[Fit]]]:
        """The fits of some numbered paths on the training part of a split, task by task."""
        return Parallel(n_jobs=self.n_jobs, return_as="generator")(
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
        scale = weight_scale(part.weight)
        part = part._replace(weight=scale * part.weight)
        shared = SharedCoordinates.of(merge(*part), paths[0][1].penalty, scale * smallest_alpha, monotone)
        for number, path in paths:
            rng = np.random.default_rng([*seeds, number])
            group_sizes = group_sizes_of(path.r1, path.r2, n_classes)
            alphas = [scale * alpha for alpha in path.alphas]
            solutions = follow(shared, group_sizes, alphas, rng, loss=path.loss, tol=tol, max_iter=max_iter)
            fits[number] = []
            began = time.perf_counter()
            for solution in solutions:
                model = shared.coordinates.fitted(solution.theta, group_sizes, monotone=monotone is not None)
                history = solution.history | {"objective": [v / scale for v in solution.history["objective"]]}
                solution = replace(solution, objective=solution.objective / scale, history=history)
                decision = model.decision(X_test)
                ended = time.perf_counter()
                fits[number].append(Fit(model, decision, ended - began, solution, path.loss))
                began = ended
    return fits
