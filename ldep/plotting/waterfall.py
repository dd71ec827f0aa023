"""One decision as a waterfall: from the baseline to the row, feature by feature."""

from __future__ import annotations

import numpy as np

from ldep.exact.attribution import Attribution
from ldep.plotting.axes import FALL, NEUTRAL, RISE, axes_for, without_frame


def plot_attribution(attribution: Attribution, row: int = 0, *, target: int | None = None, max_features=10, ax=None):
    """Draw the shares of the features in one decision.

    Parameters
    ----------
    attribution : Attribution
        What `attribute` returned.
    row : int, default=0
        Number of the row.
    target : int, default=None
        Number of the class whose score is drawn, with more than two classes.
    max_features : int, default=10
        Number of features with a bar of their own. The others share one.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes.
    """
    shares = np.asarray(attribution.contributions, dtype=float)[row]
    start, end = attribution.baseline_decision[row], attribution.decision[row]
    if shares.ndim == 2:
        if target is None:
            raise ValueError("The model has more than two classes: say by target which score to draw.")
        shares, start, end = shares[target], start[target], end[target]
    order = np.argsort(-np.abs(shares), kind="stable")
    shown = order[:max_features]
    labels = [f"{attribution.names[f]} = {attribution.data[row, f]:.4g}" for f in shown]
    values = list(shares[shown])
    if len(order) > max_features:
        labels.append(f"{len(order) - max_features} other features")
        values.append(shares[order[max_features:]].sum())
    ax = axes_for(ax, 7.5, 1.2 + 0.32 * len(values))
    position = start + np.concatenate([[0.0], np.cumsum(values)])
    colours = [RISE if value > 0 else FALL for value in values]
    ax.barh(range(len(values)), values, left=position[:-1], color=colours, height=0.7)
    span = np.ptp(position) or 1.0
    for number, value in enumerate(values):
        right = max(position[number], position[number + 1])
        white = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        ax.text(right + 0.012 * span, number, f"{value:+.2f}", va="center", size=8, bbox=white)
        if number + 1 < len(values):
            ax.plot([position[number + 1]] * 2, [number - 0.35, number + 1.35], color=NEUTRAL, linewidth=0.6)
    ax.axvline(start, color=NEUTRAL, linewidth=0.8, linestyle=":", zorder=0)
    ax.axvline(end, color="black", linewidth=0.8, linestyle="--", zorder=0)
    if min(position) <= 0 <= max(position) + 0.1 * span:
        ax.axvline(0.0, color="black", linewidth=1.0, zorder=0)
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    ax.set_xlim(min(position) - 0.05 * span, max(position) + 0.13 * span)
    score = "τ" if target is None else f"score of class {target}"
    ax.set(xlabel=f"{score}: {start:.2f} at the baseline (dotted), {end:.2f} at the row (dashed)")
    without_frame(ax)
    return ax
