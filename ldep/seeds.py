"""One seed from the user, many for what is fitted inside."""

from __future__ import annotations

import numpy as np


def draw_seeds(random_state: np.random.RandomState, count: int) -> list[int]:
    """Seeds as plain ints: they survive cloning, pickling and other processes."""
    return random_state.randint(np.iinfo(np.int32).max, size=count).tolist()


def seeded(estimator, seed: int):
    """Set every `random_state` of an estimator, those of its parts too."""
    names = [name for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state")]
    return estimator.set_params(**dict.fromkeys(names, seed))
