"""Random models with random questions about a row of each, for the search and its oracle alike."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tests.support.fitted_models import difference_of, random_average, random_class_votes, random_model


class Asked(NamedTuple):
    """A model, a row, and what is asked about it. All features have bounds."""

    kind: str
    model: Any
    x: np.ndarray
    names: list[str]
    limits: dict[str, Any]


def random_question(seed: int, norm: str | None = None) -> Asked:
    """A single model, a difference of maxima or votes, with two to five classes and constraints of all kinds."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(2, 6)), int(rng.integers(2, 6))
    kind = str(rng.choice(["single", "difference", "votes"]))
    if kind == "single":
        model = random_model(seed, n, (3,) * n_classes)
    elif kind == "difference":
        model = difference_of(seed, n_classes, n, 2)
    else:
        model = random_average(seed, 3, n) if n_classes == 2 else random_class_votes(seed, n_classes, 3, n)
    x, names = np.round(rng.normal(size=n), 2), [f"x{k}" for k in range(n)]
    limits: dict[str, Any] = {"norm": norm or str(rng.choice(["l1", "linf", "l2"]))}
    limits["bounds"] = dict.fromkeys(names, (-3.0, 3.0))
    if rng.random() < 0.3:
        limits["integer"] = {names[0]: 0.5}
    if rng.random() < 0.4:
        limits["categories"] = {names[-1]: [float(x[-1]), 1.0, -1.5]}
    if rng.random() < 0.4:
        limits["directions"] = {names[min(1, n - 1)]: str(rng.choice(["up", "down"]))}
    constraints = []
    for _ in range(rng.integers(0, 3)):
        a, b = rng.choice(n, 2, replace=False)
        c, limit = np.round(rng.normal(size=2), 1), np.round(rng.uniform(0, 2), 2)
        constraints.append(f"{c[0]} * x{a} + {abs(c[1])} * x{b} <= {limit}")
    if constraints:
        limits["constraints"] = constraints
    if rng.random() < 0.4:
        limits["max_changes"] = int(rng.integers(1, 3))
    if rng.random() < 0.3:
        limits["costs"] = {names[0]: 3.0}
    if rng.random() < 0.2 and n > 2:
        limits["frozen"] = [names[0]]
    return Asked(kind, model, x, names, limits)
