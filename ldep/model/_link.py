"""The link from decision values to probabilities, fitted to values of rows that a model has not seen.

For a single model it is logistic in the inverse hyperbolic sine of its decision value, which is about the value itself
near the boundary, and its logarithm far away, where the value says little more:

    "asinh":   P(second class | x) = 1 / (1 + exp(-(slope asinh(value) + intercept))),

    "leads":   P(class k | x) proportional to exp(slope asinh(lead_k)),

where lead_k is the score of class k minus the largest score of another one. The class that is predicted then always has
the largest probability. A model that was trained with the logistic loss has a link of its own, for which nothing is
fitted: "identity", logistic in the decision value, or "softmax", the softmax of the scores. For votes it is logistic in
the log-odds of the share of votes, or in the logarithm of the shares u_k of more than two classes, of which a small
part counts as open:

    "log_shares":   P(class k | x) proportional to u_k^slope exp(intercept_k).

The class with the largest factor_k u_k is the most likely one, with factor_k = exp(intercept_k / slope): these are the
decision values, which are linear in the votes. With two classes this is "log_odds", the logistic link on the log-odds.

The targets are Platt's [1]_: a little less than 1 for the class of a row and a little more than 0 for each other one,
so that the slope is finite where the classes are separated.

.. [1] J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods",
   Advances in Large Margin Classifiers, 1999.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, softmax

from ldep.model._decisions import OPEN_VOTES, form_in, form_of, open_votes

# A link with a smaller slope than this would hardly depend on the value.
SMALLEST_SLOPE = 1e-3
# A link with a larger slope than this is a step.
LARGEST_SLOPE = 1e3
# Where the values say nothing, all rows are on one side of the threshold: at this argument of the link, and not beyond.
# Below exp(-FAR) a factor makes a class impossible to predict, however much smaller it is.
FAR = 20.0


def vote_log_odds(votes: np.ndarray) -> np.ndarray:
    """Log-odds of the share of votes (1 + votes) / 2, for averages of votes in [-1, 1]."""
    return 2.0 * np.arctanh((1.0 - OPEN_VOTES) * votes)


def votes_at(log_odds: float) -> float:
    """The average of votes with these log-odds: the inverse of `vote_log_odds`."""
    return float(np.tanh(log_odds / 2.0) / (1.0 - OPEN_VOTES))


# What the links of two classes are logistic in, and the way back.
ARGUMENTS: dict[str, tuple[Callable, Callable]] = {
    "identity": (lambda values: values, float),
    "asinh": (np.arcsinh, np.sinh),
    "log_odds": (vote_log_odds, votes_at),
}


@dataclass(frozen=True, eq=False)
class Link:
    """The probabilities of the classes as functions of decision values without thresholds and factors."""

    kind: Literal["identity", "softmax", "asinh", "leads", "log_odds", "log_shares"]
    slope: float
    intercepts: np.ndarray

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, one row per value."""
        if self.kind == "softmax":
            return softmax(self.slope * values + self.intercepts, axis=1)
        if self.kind == "leads":
            return np.exp(log_softmax(self.slope * leads(values), axis=1))
        if self.kind == "log_shares":
            return softmax(self.slope * np.log(values) + self.intercepts, axis=1)
        scores = self.slope * ARGUMENTS[self.kind][0](values) + float(self.intercepts[1] - self.intercepts[0])
        return np.column_stack([expit(-scores), expit(scores)])


def own_link(n_classes: int) -> Link:
    """The link of a model that was trained with the logistic loss."""
    return Link(form_of(n_classes).own_link, 1.0, np.zeros(n_classes))


def fit_votes(votes: np.ndarray, own: np.ndarray, weight: np.ndarray) -> tuple[Link, float, np.ndarray | None]:
    """Fit the link of mean out-of-fold votes, and find what makes the most likely class the predicted one.

    With two classes this is a threshold, the mean vote from which the second class is at least as likely; with more,
    the factors of their shares.
    """
    if votes.ndim == 1:
        return *_fit_two("log_odds", votes, own, weight), None
    slope, intercepts = fit_softmax(np.log(open_votes(votes)), own, weight)
    exponents = intercepts / slope
    factors = np.exp(np.maximum(exponents - exponents.max(), -FAR))
    return Link("log_shares", slope, intercepts), 0.0, factors


def fit_decisions(
    values: np.ndarray, own: np.ndarray, weight: np.ndarray, kind: Literal["identity", "asinh"] = "asinh"
) -> tuple[Link, float]:
    """Fit the link of decision values, and find the threshold with which the most likely of two classes is predicted.

    `kind` is that of two classes. The other parameters are those of `fit_votes`.
    """
    if values.ndim == 2:
        return Link("leads", fit_slope(leads(values), own, weight), np.zeros(values.shape[1])), 0.0
    return _fit_two(kind, values, own, weight)


def _fit_two(
    kind: Literal["identity", "asinh", "log_odds"], values: np.ndarray, own: np.ndarray, weight: np.ndarray
) -> tuple[Link, float]:
    """The link of two classes, and the value at which both are equally likely."""
    argument, inverse = ARGUMENTS[kind]
    slope, intercept = fit_logistic(argument(values), own, weight)
    even = float(np.clip(-intercept / slope, -FAR, FAR))
    return Link(kind, slope, np.array([0.0, intercept])), float(inverse(even))


def fit_logistic(values: np.ndarray, own: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Fit the positive slope and the intercept of the link of two classes to out-of-fold values."""
    positive, negative = weight[own > 0].sum(), weight[own == 0].sum()
    targets = np.where(own > 0, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))
    share = weight / weight.sum()

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        scores = parameters[0] * values + parameters[1]
        residual = share * (expit(scores) - targets)
        value = float(share @ (np.logaddexp(0.0, scores) - targets * scores))
        return value, np.array([residual @ values, residual.sum()])

    result = minimize(
        loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(SMALLEST_SLOPE, None), (None, None)]
    )
    return float(result.x[0]), float(result.x[1])


def leads(decision: np.ndarray) -> np.ndarray:
    """f_k, one column per class: the compressed lead of the class over the best of the others."""
    columns = form_in(decision).unfold(decision)
    ordered = np.sort(columns, axis=1)
    best, second = ordered[:, -1:], ordered[:, -2:-1]
    return np.arcsinh(columns - np.where(columns == best, second, best))


def fit_slope(values: np.ndarray, own: np.ndarray, weight: np.ndarray) -> float:
    """Fit the positive slope of the link without an intercept to out-of-fold leads by maximum likelihood."""
    rows, n_classes = np.arange(len(own)), values.shape[1]
    # Platt's targets for any number of classes: a class of weight w has the target (w + 1) / (w + n_classes).
    totals = np.bincount(own, weight, minlength=n_classes)[own]
    others = 1.0 / (totals + n_classes)
    share = weight / weight.sum()

    def loss(log_slope: float) -> float:
        log_p = log_softmax(np.exp(log_slope) * values, axis=1)
        return -float(share @ (totals * others * log_p[rows, own] + others * log_p.sum(axis=1)))

    bounds = np.log([SMALLEST_SLOPE, LARGEST_SLOPE])
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))


def fit_softmax(values: np.ndarray, own: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
    """Fit the positive slope and the intercepts, which sum to zero, of the link of more than two classes."""
    n_classes = values.shape[1]
    totals = np.bincount(own, weight, n_classes)[own]
    targets = np.repeat(1.0 / (totals + n_classes), n_classes).reshape(values.shape)
    targets[np.arange(len(own)), own] *= totals + 1.0
    share = (weight / weight.sum())[:, None]

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        log_probability = log_softmax(parameters[0] * values + parameters[1:], axis=1)
        residual = share * (np.exp(log_probability) - targets)
        gradient = np.append((residual * values).sum(), residual.sum(axis=0))
        return -float((share * targets * log_probability).sum()), gradient

    bounds = [(SMALLEST_SLOPE, None)] + [(None, None)] * n_classes
    result = minimize(loss, np.append(1.0, np.zeros(n_classes)), jac=True, method="L-BFGS-B", bounds=bounds)
    return float(result.x[0]), result.x[1:] - result.x[1:].mean()
