"""Exact integrated gradients.

The gradient of tau is constant in each region. The segment from a baseline to a row crosses few regions, and
`ldep.exact.segments` finds in closed form where. The integral of the gradient is then a sum over the parts [1]_.

.. [1] M. Sundararajan, A. Taly and Q. Yan, "Axiomatic attribution for deep networks", ICML 2017.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldep.exact.models import Average, ClassVotes, Maxima
from ldep.exact.segments import shares_of_clipped_votes, shares_of_pieces, shares_of_shared_votes
from ldep.exact.stacked import Stacked
from ldep.search.votes import sparsemax
from ldep.shap_plots import to_shap

# Values of pieces that are in memory at a time.
LARGEST_TABLE = 40_000


@dataclass(frozen=True)
class Attribution:
    """The share of each feature in the difference of the decision values of a row and a baseline.

    Attributes
    ----------
    contributions : ndarray of shape (n_samples, n_features) or (n_samples, n_classes, n_features), or DataFrame
        Shares in tau(x) - tau(baseline); with more than two classes, shares in the difference
        of the decision values of each class.
    decision, baseline_decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Decision values of the rows and of their baselines; the contributions sum to their difference.
    data : ndarray of shape (n_samples, n_features)
        The rows.
    names : list of str
        Names of the features.
    """

    contributions: Any
    decision: np.ndarray
    baseline_decision: np.ndarray
    data: np.ndarray = field(repr=False)
    names: list[str] = field(repr=False)

    def to_shap(self):
        """Convert to a `shap.Explanation`, for the plots of the package shap, which must be installed."""
        return to_shap(self.contributions, self.baseline_decision, self.data, self.names)


def attribute(model: Maxima | Average | ClassVotes, X: np.ndarray, baseline: np.ndarray) -> tuple[np.ndarray, ...]:
    """The contributions, and the decision values of the rows and of the baseline.

    They are computed for all members of an average at once: the time of a single row is that of calls.

    Parameters
    ----------
    model : Maxima, Average or ClassVotes
        The model.
    X : ndarray of shape (n_samples, n_features)
        The rows.
    baseline : ndarray of shape (n_features,) or (n_samples, n_features)
        Where the segments start.
    """
    stacked, starts = Stacked.of(model), np.broadcast_to(baseline, X.shape)
    way = X - starts
    step = max(1, LARGEST_TABLE // sum(offsets.size for offsets in stacked.offsets))
    parts = [
        _mean_gradients(model, stacked, starts[first : first + step], way[first : first + step])
        for first in range(0, max(len(X), 1), step)
    ]
    gradients = np.concatenate(parts) if len(parts) > 1 else parts[0]
    decision = _decision_values(model, stacked, X)
    baseline_decision = _decision_values(model, stacked, np.atleast_2d(baseline))
    contributions = gradients * (way if gradients.ndim == 2 else way[:, None])
    return contributions, decision, np.broadcast_to(baseline_decision, decision.shape)


def _decision_values(model: Maxima | Average | ClassVotes, stacked: Stacked, X: np.ndarray) -> np.ndarray:
    """The decision values of rows, which are those of `decision_function` apart from rounding."""
    tops = [scores.max(axis=1).reshape(len(X), -1) for scores in stacked.scores(X)]
    if isinstance(model, ClassVotes):
        votes = sparsemax(np.stack(tops, axis=2).reshape(-1, len(tops))).reshape(*tops[0].shape, -1)
        return model.factors * np.einsum("rmk,m->rk", votes, model.weights) + model.constants
    if isinstance(model, Average):
        tau = tops[1] - tops[0]
        return (np.clip(tau, -1.0, 1.0) if model.clipped else tau) @ model.weights - model.threshold
    return tops[1][:, 0] - tops[0][:, 0] if len(tops) == 2 else np.column_stack(tops)


def _mean_gradients(
    model: Maxima | Average | ClassVotes, stacked: Stacked, baseline: np.ndarray, way: np.ndarray
) -> np.ndarray:
    """The mean gradients of the decision values along the segments, of shape (n_rows, [n_classes,] n_features)."""
    starts, changes = stacked.scores(baseline), stacked.changes(way)
    if isinstance(model, ClassVotes):
        shared = shares_of_shared_votes(starts, changes)
        votes = [sum(stacked.mean_slopes(j, part, model.weights) for j, part in enumerate(parts)) for parts in shared]
        return np.stack([factor * vote for factor, vote in zip(model.factors, votes)], axis=1)
    if isinstance(model, Average) and model.clipped:
        shares = shares_of_clipped_votes(starts, changes, 1.0)
    else:
        shares = [shares_of_pieces(start, change) for start, change in zip(starts, changes)]
    weights = model.weights if isinstance(model, Average) else np.ones(1)
    means = [stacked.mean_slopes(k, share, weights) for k, share in enumerate(shares)]
    return means[1] - means[0] if len(means) == 2 else np.stack(means, axis=1)
