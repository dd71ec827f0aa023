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

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.search.vote_ensemble import VoteEnsemble


class Sigmoid(NamedTuple):
    """The probability of the second of two classes."""

    slope: float
    offset: float

    def __call__(self, decision: np.ndarray) -> np.ndarray:
        return expit(self.slope * decision + self.offset)

    def shifted(self, threshold: float) -> Sigmoid:
        """The same probabilities as a function of the decision value minus the threshold."""
        return Sigmoid(self.slope, self.offset + self.slope * threshold)


class Softmax(NamedTuple):
    """The probabilities of more than two classes: one column per class."""

    slope: float
    offsets: tuple[float, ...]

    def __call__(self, decision: np.ndarray) -> np.ndarray:
        return softmax(self.slope * decision + np.array(self.offsets), axis=1)


Link = Sigmoid | Softmax


def is_calibrated(model: Any) -> bool:
    """Whether the probabilities of a fitted model come from rows that its parts had not seen."""
    if isinstance(model, LDEPClassifier):
        return model.probability
    return isinstance(model, (LDEPClassifierCV, VoteEnsemble))


def fit(decision: np.ndarray, y: np.ndarray, classes: np.ndarray) -> Link:
    """The sigmoid or softmax of some decision values. `classes` are the possible values of y in sorted order."""
    if len(classes) == 2:
        return fit_sigmoid(decision, y == classes[1])
    return fit_softmax(decision, np.searchsorted(classes, y))


def fit_sigmoid(decision: np.ndarray, positive: np.ndarray) -> Sigmoid:
    """Maximum likelihood with Platt's targets, which keep it finite when the values separate the classes.

    >>> fit_sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]))(np.array([0.0])).round(6)
    array([0.5])
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
    return Sigmoid(float(found.x[0] / scale), float(found.x[1]))


def fit_softmax(decision: np.ndarray, numbers: np.ndarray) -> Softmax:
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
    return Softmax(float(found.x[0] / scale), tuple(offsets.tolist()))


def _scale(decision: np.ndarray) -> float:
    return float(np.abs(decision).max()) or 1.0


def as_json(link: Link | None) -> dict[str, Any] | None:
    """A link as plain values. The name of a field tells the two kinds apart."""
    return None if link is None else link._asdict()


def from_json(values: dict[str, Any] | None) -> Link | None:
    """The inverse of `as_json`; TypeError or KeyError for anything else."""
    if values is None:
        return None
    if "offsets" in values:
        return Softmax(float(values["slope"]), tuple(float(offset) for offset in values["offsets"]))
    return Sigmoid(**values)
