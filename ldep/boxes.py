"""Where the training of a morphological perceptron starts. A start is a function (problem, rng) -> theta.

max_j(x_j + a_j) < 0 is the box x_j < -a_j, the negatives' place; min_j(x_j + b_j) >= 0 is the box x_j >= -b_j, the
positives'.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ldep.pieces import MorphologicalPieces
from ldep.problem import Problem

# The share of a class that its box holds in each feature.
SHARES = (1.0, 0.9, 0.5)


def box(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """Around each class its box, with a margin of 1; of boxes for some shares of the class, the lowest objective."""
    pieces = problem.pieces
    assert isinstance(pieces, MorphologicalPieces)
    candidates = []
    for share in SHARES:
        a = -_quantile(problem, -1.0, share) - 1.0
        b = -_quantile(problem, 1.0, 1.0 - share) + 1.0
        candidates.append(pieces.theta(0.5, a, b))
    return min(candidates, key=problem.objective)


def random(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """Small offsets: each feature gets its share of the samples."""
    pieces = problem.pieces
    assert isinstance(pieces, MorphologicalPieces)
    return pieces.theta(0.5, *rng.normal(0.0, 0.3, (2, pieces.n)))


STARTS: dict[str, Callable[[Problem, np.random.Generator], np.ndarray]] = {"box": box, "random": random}


def schedule(init: str, n_init: int) -> list[str]:
    """The names of the starts of one fit. Every box is the same: one of them is enough."""
    names = {"auto": ["box"] + ["random"] * (n_init - 1), "box": ["box"], "random": ["random"] * n_init}
    return names[init]


def _quantile(problem: Problem, sign: float, q: float) -> np.ndarray:
    rows = problem.y == sign
    return np.quantile(problem.X[rows], q, axis=0, weights=problem.weight[rows], method="inverted_cdf")
