"""Where training starts. A start is a function (problem, rng) -> theta, in conditioned coordinates.

Neither of the two wins everywhere, so that `auto` alternates between them and the lowest objective is kept.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from ldep.pieces import LinearPieces
from ldep.problem import Problem

# k-means sees at most this many samples of a class: its centres are a start, not a result.
KMEANS_SAMPLES = 5000


def random(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """Small normal weights: the pieces start close to each other, and apart enough to take different samples."""
    return rng.normal(0.0, 0.3, problem.pieces.size)


def kmeans(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """One piece a cluster of its class: 2 mu . x - |mu|^2 is largest for the centre mu nearest to x.

    tau is then the difference of two squared distances, to the nearest centre of the negatives and of the positives.
    It is scaled to the margin by a search on a line.
    """
    pieces = problem.pieces
    assert isinstance(pieces, LinearPieces)
    if pieces.n == 0:  # no feature varies: there is nothing to cluster
        return random(problem, rng)
    groups = []
    for sign, r in ((1.0, pieces.r1), (-1.0, pieces.r2)):
        rows = np.flatnonzero((problem.y == sign) & (problem.weight > 0))
        if len(rows) > KMEANS_SAMPLES:
            rows = rng.choice(rows, KMEANS_SAMPLES, replace=False)
        points = problem.X[rows]
        distinct = len(np.unique(points, axis=0)) if len(points) <= 10 * r else r
        clusters = min(r, distinct)
        model = KMeans(clusters, n_init=1, max_iter=20, random_state=int(rng.integers(2**31))).fit(points)
        centres = model.cluster_centers_[np.arange(r) % clusters]
        groups.append(np.column_stack([2.0 * centres, -np.square(centres).sum(axis=1)]))
    table = np.vstack(groups)
    table -= table.mean(axis=0)
    theta = table.ravel()
    return theta * min(2.0 ** np.arange(-8, 5), key=lambda scale: problem.objective(scale * theta))


STARTS = {"random": random, "kmeans": kmeans}


def schedule(init: str, n_init: int, r1: int, r2: int) -> list[str]:
    """The names of the starts of one fit. With one piece each the problem is convex: one start is enough."""
    if r1 == r2 == 1:
        n_init = 1
    return [("kmeans", "random")[i % 2] for i in range(n_init)] if init == "auto" else [init] * n_init
