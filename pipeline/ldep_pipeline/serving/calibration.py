"""From decision values to probabilities, by a few numbers.

With two classes Platt's sigmoid: P(second class | d) = 1 / (1 + exp(-(slope d + offset))). With more classes the
softmax of slope d_k + offset_k. Both are fitted to decision values of rows that the model had not seen. A model that
has fitted its probabilities to such rows itself needs neither.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from ldep.model import Link


class Calibration(NamedTuple):
    """Slope and offsets of the probabilities: one offset with two classes, else one per class."""

    slope: float
    offsets: tuple[float, ...]

    def __call__(self, decision: np.ndarray) -> np.ndarray:
        """One column per class."""
        scores = self.slope * decision + np.array(self.offsets)
        if len(self.offsets) > 1:
            return softmax(scores, axis=1)
        second = expit(scores)
        return np.column_stack([1 - second, second])

    def as_link(self, threshold: float) -> Link | None:
        """The same probabilities as a function of decision values before a threshold is subtracted from those of two
        classes; None if they do not depend on the values."""
        if self.slope <= 0:
            return None
        if len(self.offsets) > 1:
            return Link("softmax", self.slope, np.array(self.offsets))
        return Link("identity", self.slope, np.array([0.0, self.offsets[0] - self.slope * threshold]))

    def shifted(self, threshold: float) -> Calibration:
        """The same probabilities of two classes as a function of the decision value minus the threshold."""
        return self._replace(offsets=(self.offsets[0] + self.slope * threshold,))


def fit(decision: np.ndarray, y: np.ndarray, classes: np.ndarray) -> Calibration:
    """The calibration for some decision values. `classes` are the possible values of y in sorted order."""
    if len(classes) == 2:
        return fit_sigmoid(decision, y == classes[1])
    return fit_softmax(decision, np.searchsorted(classes, y))


def fit_sigmoid(decision: np.ndarray, positive: np.ndarray) -> Calibration:
    """Maximum likelihood with Platt's targets, which keep it finite when the values separate the classes.

    >>> fit_sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]))(np.array([0.0])).round(6)
    array([[0.5, 0.5]])
    """
    count = int(positive.sum())
    target = np.where(positive, (count + 1) / (count + 2), 1 / (len(positive) - count + 2))
    scale = _scale(decision)  # values of any size, one optimisation
    d = decision / scale

    def loss(ab: np.ndarray) -> tuple[float, np.ndarray]:
        z = ab[0] * d + ab[1]
        value = float(np.sum(np.logaddexp(0, z) - target * z))
        excess = expit(z) - target
        return value, np.array([excess @ d, excess.sum()])

    # A slope below zero would say that the class is the unlikely one: then the values say nothing, and 0 is the answer.
    found = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(0, None), (None, None)])
    return Calibration(float(found.x[0] / scale), (float(found.x[1]),))


def fit_softmax(decision: np.ndarray, numbers: np.ndarray) -> Calibration:
    """Maximum likelihood for more than two classes. `numbers` has the column of each row's class.

    The targets are smoothed as Platt's are: a class of n rows counts as n + 1 of its own and one of every other class.
    """
    rows, classes = decision.shape
    counts = np.bincount(numbers, minlength=classes)
    target = np.repeat(1 / (counts[numbers] + classes), classes).reshape(rows, classes)
    target[np.arange(rows), numbers] = (counts[numbers] + 1) / (counts[numbers] + classes)
    scale = _scale(decision)
    d = decision / scale

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        log_p = log_softmax(parameters[0] * d + parameters[1:], axis=1)
        excess = np.exp(log_p) - target
        return -float(np.sum(target * log_p)), np.array([np.sum(excess * d), *excess.sum(axis=0)])

    start = np.array([1.0, *np.zeros(classes)])
    bounds = [(0, None), *[(None, None)] * classes]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    offsets = found.x[1:] - found.x[1:].mean()  # only their differences matter
    return Calibration(float(found.x[0] / scale), tuple(offsets.tolist()))


def _scale(decision: np.ndarray) -> float:
    return float(np.abs(decision).max()) or 1.0


def from_json(values: dict[str, Any] | None) -> Calibration | None:
    """Read the fields of a calibration; TypeError or KeyError for anything else."""
    return (
        None
        if values is None
        else Calibration(float(values["slope"]), tuple(float(value) for value in values["offsets"]))
    )
