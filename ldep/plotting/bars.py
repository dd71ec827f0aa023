"""The importance of the features as bars."""

from __future__ import annotations

import numpy as np

from ldep.exact.overview import GlobalExplanation
from ldep.plotting.axes import FALL, axes_for, without_frame


def plot_importance(explanation: GlobalExplanation, *, max_features=15, ax=None):
    """Draw the mean absolute share of each feature.

    Parameters
    ----------
    explanation : GlobalExplanation
        What `explain_global` returned.
    max_features : int, default=15
        Number of features to draw.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes.
    """
    order = np.argsort(-explanation.importance, kind="stable")[:max_features]
    ax = axes_for(ax, 7.0, 1.2 + 0.3 * len(order))
    values = explanation.importance[order]
    ax.barh(range(len(order)), values, color=FALL, height=0.7)
    for position, value in enumerate(values):
        ax.text(value, position, f" {value:.3g}", va="center", size=8)
    ax.set_yticks(range(len(order)), [explanation.names[f] for f in order])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.12 * (values.max() or 1.0))
    hidden = len(explanation.importance) - len(order)
    ax.set_xlabel("mean absolute share" + (f" ({hidden} smaller ones are not shown)" if hidden else ""))
    without_frame(ax)
    return ax
