"""Probabilities of more than two classes from an average of votes. `ldep.probability` has the other links.

With the votes v_k, shares that sum to 1,

    P(k | x) proportional to u_k^slope exp(intercept_k),   u_k = (1 - open) v_k + open / K,

where a small part of the votes counts as open, so that no u_k is zero. The class with the largest factor_k u_k is the
most likely one, with factor_k = exp(intercept_k / slope): these are the decision values, which are linear in the votes.

With two classes this is the logistic link of `ldep.probability` on the log-odds of the share of votes. The targets are
Platt's too: a little more than 0 for each wrong class.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from ldep.probability import OPEN_VOTES, SMALLEST_SLOPE

# Below exp(-FAR) a factor makes a class impossible to predict, however much smaller it is.
FAR = 20.0


def open_votes(votes: np.ndarray) -> np.ndarray:
    """u_k from shares of votes, of shape (n_samples, n_classes)."""
    return (1.0 - OPEN_VOTES) * votes + OPEN_VOTES / votes.shape[1]


def class_factors(slope: float, intercepts: np.ndarray) -> np.ndarray:
    """factor_k, with the largest one equal to 1."""
    exponents = intercepts / slope
    return np.exp(np.maximum(exponents - exponents.max(), -FAR))


def fit_vote_link(opened: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
    """Fit the link by maximum likelihood.

    Parameters
    ----------
    opened : ndarray of shape (n_samples, n_classes)
        u_k of out-of-fold votes.
    y : ndarray of shape (n_samples,)
        Indices of the classes.
    weight : ndarray of shape (n_samples,)
        Weights of the samples.

    Returns
    -------
    slope : float
        The slope, which is positive.
    intercepts : ndarray of shape (n_classes,)
        The intercepts; their sum is zero.
    """
    values = np.log(opened)
    n_classes, codes = values.shape[1], y.astype(np.intp)
    totals = np.bincount(codes, weight, n_classes)[codes]
    targets = np.repeat(1.0 / (totals + n_classes), n_classes).reshape(values.shape)
    targets[np.arange(len(y)), codes] *= totals + 1.0
    share = (weight / weight.sum())[:, None]

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        log_probability = log_softmax(parameters[0] * values + parameters[1:], axis=1)
        residual = share * (np.exp(log_probability) - targets)
        gradient = np.append((residual * values).sum(), residual.sum(axis=0))
        return -float((share * targets * log_probability).sum()), gradient

    bounds = [(SMALLEST_SLOPE, None)] + [(None, None)] * n_classes
    result = minimize(loss, np.append(1.0, np.zeros(n_classes)), jac=True, method="L-BFGS-B", bounds=bounds)
    return float(result.x[0]), result.x[1:] - result.x[1:].mean()


def vote_probabilities(opened: np.ndarray, slope: float, intercepts: np.ndarray) -> np.ndarray:
    """P(k | x) from u_k, one row per sample."""
    return softmax(slope * np.log(opened) + intercepts, axis=1)
