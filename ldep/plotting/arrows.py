"""A counterfactual as arrows: what changes, from what to what."""

from __future__ import annotations

import numpy as np

from ldep.exact.result import Counterfactuals
from ldep.plotting.axes import FALL, RISE, axes_for, without_frame


def plot_counterfactual(counterfactuals: Counterfactuals, row: int = 0, *, scale=None, max_features=12, ax=None):
    """Draw the changes that lead one row to its counterfactual.

    Parameters
    ----------
    counterfactuals : Counterfactuals
        What `counterfactual` returned.
    row : int, default=0
        Number of the row.
    scale : array-like of shape (n_features,), default=None
        Length of one unit of each feature, such as its standard deviation; None is 1.
    max_features : int, default=12
        Number of features to draw, those with the largest changes.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes.
    """
    before, after = counterfactuals.start[row], np.asarray(counterfactuals.rows, dtype=float)[row]
    if not np.isfinite(after).all():
        raise ValueError(f"Row {row} has no counterfactual.")
    unit = np.ones(len(before)) if scale is None else np.asarray(scale, dtype=float)
    change = (after - before) / unit
    changed = np.flatnonzero(change)
    changed = changed[np.argsort(-np.abs(change[changed]), kind="stable")]
    shown = changed[:max_features]
    ax = axes_for(ax, 7.5, 1.3 + 0.38 * max(len(shown), 1))
    for position, f in enumerate(shown):
        colour = RISE if change[f] > 0 else FALL
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.2, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", xy=(change[f], position), xytext=(0.0, position), arrowprops=arrow)
        side = 1 if change[f] > 0 else -1
        ax.annotate(
            f"{before[f]:.4g} → {after[f]:.4g}",
            (change[f], position),
            xytext=(6 * side, 0),
            textcoords="offset points",
            va="center",
            ha="left" if side > 0 else "right",
            size=9,
        )
    reach = np.abs(change[shown]).max(initial=0.0) or 1.0
    left = reach if (change[shown] < 0).any() else 0.0
    right = reach if (change[shown] > 0).any() else 0.0
    ax.set_xlim(-1.75 * left - 0.1 * reach, 1.75 * right + 0.1 * reach)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.set_yticks(range(len(shown)), [counterfactuals.names[f] for f in shown])
    units = "in units of each feature" if scale is None else "in units of the scale"
    rest = f"; {len(changed) - len(shown)} smaller changes are not shown" if len(changed) > len(shown) else ""
    ax.set_xlabel(f"change, {units}{rest}")
    ax.set_title(f"{counterfactuals.before[row]} → {counterfactuals.target[row]}", size=11)
    without_frame(ax)
    return ax
