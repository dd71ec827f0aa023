"""Small seeded training problems of the ℓ-DEP, in the coordinates of the solvers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldep.training import LinearPieces, Loss, Problem, Samples, condition, own_group, random_weights


def noisy_samples(seed: int, m: int = 80, n: int = 3) -> Samples:
    """Samples of a random ℓ-DEP with three pieces per maximum, with noise on its decision value."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    tau = (X @ rng.normal(size=(n, 3))).max(axis=1) - (X @ rng.normal(size=(n, 3))).max(axis=1)
    return Samples(X, np.where(tau + 0.5 * rng.normal(size=m) > 0, 1.0, -1.0), np.ones(m))


def noisy_problem(
    seed: int, alpha: float, r: int = 3, m: int = 80, n: int = 3, loss: Loss = "hinge"
) -> Problem[LinearPieces]:
    """The training problem of such samples with r pieces per maximum."""
    return condition(noisy_samples(seed, m, n), (r, r), alpha, loss=loss)[0]


def many_class_problem(
    seed: int, alpha: float, n_classes: int = 4, r: int = 3, m: int = 90, loss: Loss = "hinge"
) -> Problem[LinearPieces]:
    """The training problem of samples of a random model with two pieces per class, with noise on its scores.

    Every class adds a maximum of r pieces, and subtracts one of r - 1.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    scores = (X @ rng.normal(size=(3, 2 * n_classes))).reshape(m, n_classes, 2).max(axis=2)
    y = (scores + 0.5 * rng.normal(size=scores.shape)).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    samples = Samples(X, y.astype(float), rng.uniform(0.5, 2.0, m))
    return condition(samples, (r,) * n_classes + (r - 1,) * n_classes, alpha, loss=loss)[0]


def random_start(problem: Problem[LinearPieces], seed: int = 0) -> np.ndarray:
    """A random start of the solvers."""
    return random_weights(problem, np.random.default_rng(seed))


def with_weights(problem: Problem[LinearPieces], weight: np.ndarray) -> Problem[LinearPieces]:
    """The same problem with other sample weights."""
    return replace(problem, weight=weight)


def convex_bound(problem: Problem[LinearPieces], star: np.ndarray, theta: np.ndarray) -> float:
    """The convex upper bound of F that linearises at `star`, which is the objective of the subproblem."""
    scores, sizes = problem.pieces.scores(theta, problem.X), problem.pieces.group_sizes
    group_of_piece = np.repeat(np.arange(len(sizes)), sizes)
    own = own_group(problem.y)
    top = np.where(group_of_piece[:, None] != own, scores, -np.inf).max(axis=0)
    slack = 1.0 + top - scores[star, np.arange(len(star))]
    return float(problem.weight @ np.maximum(slack, 0.0)) + problem.penalty(theta)[0]
