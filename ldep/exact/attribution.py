"""Exact integrated gradients.

The gradient of tau is constant in each region. Along the segment from a baseline to a row, every piece is an affine
function of t in [0, 1], and a maximum of r pieces has at most r - 1 kinks, which are found in closed form. The integral
of the gradient is then a sum over the parts between kinks [1]_.

.. [1] M. Sundararajan, A. Taly and Q. Yan, "Axiomatic attribution for deep networks", ICML 2017.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldep.exact.models import Average, Maxima
from ldep.shap_plots import to_shap


@dataclass(frozen=True)
class Attribution:
    """The share of each feature in the difference of the decision values of a row and a baseline.

    Attributes
    ----------
    contributions : ndarray of shape (n_samples, n_features) or (n_samples, n_classes, n_features), or DataFrame
        Shares in tau(x) - tau(baseline); with more than two classes, shares in s_k(x) - s_k(baseline) for each class k.
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


def integrated_gradients(model: Maxima | Average, X: np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """The contributions: of tau, or with more than two classes of each s_k.

    Parameters
    ----------
    model : Maxima or Average
        The model.
    X : ndarray of shape (n_samples, n_features)
        The rows.
    baseline : ndarray of shape (n_samples, n_features)
        Where the segment of each row starts.
    """
    way = X - baseline
    if isinstance(model, Average):
        slopes = sum(
            weight * _mean_vote_gradient(member, X, baseline, 1.0 if model.clipped else np.inf)
            for member, weight in zip(model.members, model.weights)
        )
        return slopes * way
    means = _mean_gradients(model, X, baseline)
    if model.n_classes == 2:
        return (means[1] - means[0]) * way
    return np.stack(means, axis=1) * way[:, None]


def _mean_gradients(model: Maxima, X: np.ndarray, baseline: np.ndarray) -> list[np.ndarray]:
    """The mean gradient of each maximum along the segments."""
    starts, ends = model.scores(baseline), model.scores(X)
    means = []
    for slopes, start, end in zip(model.slopes, starts, ends):
        kinks, active = upper_envelope(start, end - start)
        shares = np.zeros(start.shape)
        rows = np.arange(len(X))
        for step in range(active.shape[1]):
            shares[rows, active[:, step]] += kinks[:, step + 1] - kinks[:, step]
        means.append(shares @ slopes)
    return means


def upper_envelope(values: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The kinks of max_i(values_i + t slopes_i) for t in [0, 1], and the largest piece between them, for each row.

    Returns
    -------
    kinks : ndarray of shape (n_rows, n_parts + 1)
        They begin with 0 and end with 1, which is repeated where a row has fewer parts.
    active : ndarray of shape (n_rows, n_parts)
        The largest piece of each part.
    """
    rows = np.arange(len(values))
    # At t = 0 the largest piece is active, and of equal ones the steepest.
    largest = values == values.max(axis=1, keepdims=True)
    piece = np.where(largest, slopes, -np.inf).argmax(axis=1)
    kinks, active = [np.zeros(len(values))], [piece]
    while True:
        steeper = slopes - slopes[rows, piece][:, None]
        behind = values[rows, piece][:, None] - values
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = np.where(steeper > 0, behind / steeper, np.inf)
        # Rounding may put a meeting before the last kink; it cannot be before.
        meets = np.maximum(meets, kinks[-1][:, None])
        at = meets.min(axis=1)
        if not (at < 1.0).any():
            break
        # Of several pieces that meet there, the steepest goes on.
        following = np.where(meets <= at[:, None], slopes, -np.inf).argmax(axis=1)
        piece = np.where(at < 1.0, following, piece)
        kinks.append(np.minimum(at, 1.0))
        active.append(piece)
    kinks.append(np.ones(len(values)))
    return np.column_stack(kinks), np.column_stack(active)


def _mean_vote_gradient(member: Maxima, X: np.ndarray, baseline: np.ndarray, clip: float) -> np.ndarray:
    """The mean gradient along the segments of a vote: tau of a member, clipped."""
    if np.isinf(clip):
        means = _mean_gradients(member, X, baseline)
        return means[1] - means[0]
    rows = np.arange(len(X))
    starts, ends = member.scores(baseline), member.scores(X)
    parts = [upper_envelope(start, end - start) for start, end in zip(starts, ends)]
    kinks = np.sort(np.hstack([parts[0][0], parts[1][0][:, 1:-1]]), axis=1)
    shares = [np.zeros(start.shape) for start in starts]
    for step in range(kinks.shape[1] - 1):
        left, right = kinks[:, step], kinks[:, step + 1]
        middle = (left + right) / 2.0
        pieces = []
        for own_kinks, active in parts:
            place = (own_kinks[:, 1:-1] <= middle[:, None]).sum(axis=1)
            pieces.append(active[rows, place])
        value, slope = (
            array[1][rows, pieces[1]] - array[0][rows, pieces[0]]
            for array in (starts, [end - start for start, end in zip(starts, ends)])
        )
        length = _unclipped(left, right, value, slope, clip)
        for share, piece in zip(shares, pieces):
            share[rows, piece] += length
    return shares[1] @ member.slopes[1] - shares[0] @ member.slopes[0]


def _unclipped(left, right, value, slope, clip: float) -> np.ndarray:
    """The length of the part of [left, right] in which |value + t slope| is below the clip."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.sort([(-clip - value) / slope, (clip - value) / slope], axis=0)
    inside = np.abs(value) < clip
    first = np.where(slope == 0, np.where(inside, left, right), ends[0])
    last = np.where(slope == 0, right, ends[1])
    return np.maximum(np.minimum(last, right) - np.maximum(first, left), 0.0)
