"""From decision values to probabilities: a logistic link, fitted to out-of-fold values.

    P(second class | x) = 1 / (1 + exp(-(slope f(x) + intercept)))

For a single model f is the inverse hyperbolic sine of its decision value: about the value itself near the boundary, and
its logarithm far away, where the value says little more. For an average of votes in [-1, 1] it is the log-odds of the
share of votes. The targets are Platt's [1]_: a little less than 1 and a little more
than 0, so that the slope is finite where the classes are separated.

`LDEPClassifier` uses the link for any number of classes, without an intercept:

    P(class k | x) = exp(slope f_k(x)) / sum_l exp(slope f_l(x))

where f_k is the inverse hyperbolic sine of the score of class k minus the largest score of another one. The class that
is predicted then always has the largest probability.

References
----------
.. [1] J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods",
   Advances in Large Margin Classifiers, 1999.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax

# Where all votes agree, the log-odds of their share are infinite. They are computed as if one vote in fifty were open.
OPEN_VOTES = 0.02
# A link with a smaller slope than this would hardly depend on the value.
SMALLEST_SLOPE = 1e-3
# A link with a larger slope than this is a step.
LARGEST_SLOPE = 1e3


def vote_log_odds(votes: np.ndarray) -> np.ndarray:
    """Log-odds of the share of votes (1 + votes) / 2, for averages of votes in [-1, 1]."""
    return 2.0 * np.arctanh((1.0 - OPEN_VOTES) * votes)


def votes_at(log_odds: float) -> float:
    """The average of votes with these log-odds: the inverse of `vote_log_odds`."""
    return float(np.tanh(log_odds / 2.0) / (1.0 - OPEN_VOTES))


def fit_link(values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Fit the link by maximum likelihood.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Out-of-fold values f(x).
    y : ndarray of shape (n_samples,)
        The classes, as -1 and +1.
    weight : ndarray of shape (n_samples,)
        Weights of the samples.

    Returns
    -------
    slope, intercept : float
        The parameters of the link; the slope is positive.
    """
    positive, negative = weight[y > 0].sum(), weight[y < 0].sum()
    targets = np.where(y > 0, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))
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


def probabilities(values: np.ndarray, slope: float, intercept: float) -> np.ndarray:
    """Probabilities of the first and the second class, one row per value."""
    scores = slope * values + intercept
    return np.column_stack([expit(-scores), expit(scores)])


def leads(decision: np.ndarray) -> np.ndarray:
    """f_k: for each row and class, the compressed lead of the class over the best of the others.

    Parameters
    ----------
    decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Decision values, as `decision_function` returns them.

    Returns
    -------
    leads : ndarray of shape (n_samples, n_classes)
        One column per class.
    """
    if decision.ndim == 1:
        return np.arcsinh(np.column_stack([-decision, decision]))
    ordered = np.sort(decision, axis=1)
    best, second = ordered[:, -1:], ordered[:, -2:-1]
    return np.arcsinh(decision - np.where(decision == best, second, best))


def fit_slope(values: np.ndarray, own: np.ndarray, weight: np.ndarray) -> float:
    """Fit the slope of the link without an intercept by maximum likelihood.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_classes)
        Out-of-fold leads f_k(x).
    own : ndarray of shape (n_samples,)
        Column of each row's class.
    weight : ndarray of shape (n_samples,)
        Weights of the samples.

    Returns
    -------
    slope : float
        The slope, which is positive.
    """
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


def class_probabilities(values: np.ndarray, slope: float) -> np.ndarray:
    """Probabilities of the classes, one row per row of leads."""
    return np.exp(log_softmax(slope * values, axis=1))
