"""From a decision value to a probability: Platt's sigmoid, two numbers.

P(positive | d) = 1 / (1 + exp(-(slope d + offset))), fitted to decision values of rows that the model had not seen. A
model that has fitted its probabilities to such rows itself needs no sigmoid.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.search.vote_ensemble import VoteEnsemble


class Sigmoid(NamedTuple):
    slope: float
    offset: float

    def __call__(self, decision: np.ndarray) -> np.ndarray:
        return expit(self.slope * decision + self.offset)


def is_calibrated(model: Any) -> bool:
    """Whether the probabilities of a fitted model come from rows that its parts had not seen."""
    if isinstance(model, LDEPClassifier):
        return model.probability
    return isinstance(model, (LDEPClassifierCV, VoteEnsemble))


def fit(decision: np.ndarray, positive: np.ndarray) -> Sigmoid:
    """Maximum likelihood with Platt's targets, which keep it finite when the values separate the classes.

    >>> fit(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]))(np.array([0.0])).round(6)
    array([0.5])
    """
    count = int(positive.sum())
    target = np.where(positive, (count + 1) / (count + 2), 1 / (len(positive) - count + 2))
    scale = float(np.abs(decision).max()) or 1.0  # values of any size, one optimisation
    d = decision / scale

    def loss(ab: np.ndarray) -> tuple[float, np.ndarray]:
        z = ab[0] * d + ab[1]
        value = float(np.sum(np.logaddexp(0, z) - target * z))
        excess = expit(z) - target
        return value, np.array([excess @ d, excess.sum()])

    # A slope below zero would say that the class is the unlikely one: then the values say nothing, and 0 is the answer.
    found = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(0, None), (None, None)])
    return Sigmoid(float(found.x[0] / scale), float(found.x[1]))
