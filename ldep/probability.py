"""From decision values to probabilities: a logistic link, fitted to out-of-fold values.

    P(second class | x) = 1 / (1 + exp(-(slope f(x) + intercept)))

For a single model f is the inverse hyperbolic sine of its decision value: about the value itself near the boundary, and
its logarithm far away, where the value says little more. For an average of votes in [-1, 1] it is the log-odds of the
share of votes. The targets are Platt's [1]_: a little less than 1 and a little more
than 0, so that the slope is finite where the classes are separated.

References
----------
.. [1] J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods",
   Advances in Large Margin Classifiers, 1999.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

# Where all votes agree, the log-odds of their share are infinite. They are computed as if one vote in fifty were open.
OPEN_VOTES = 0.02
# A link with a smaller slope than this would hardly depend on the value.
SMALLEST_SLOPE = 1e-3


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
