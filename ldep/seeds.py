"""One seed from the user, many for the models fitted inside an estimator."""

from __future__ import annotations

import numpy as np


def draw_seeds(random_state: np.random.RandomState, count: int) -> list[int]:
    """Draw seeds as plain ints, which survive cloning, pickling and other processes."""
    return random_state.randint(np.iinfo(np.int32).max, size=count).tolist()


def set_random_states(estimator, seed: int):
    """Set every `random_state` of an estimator and of its parts."""
    names = [name for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state")]
    return estimator.set_params(**dict.fromkeys(names, seed))
