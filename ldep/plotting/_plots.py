"""Pictures of exact answers; matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from ldep._utils import check_rows, feature_names
from ldep.model import active_pieces, class_numbers

if TYPE_CHECKING:
    from ldep.explain import Counterfactuals, Explanation, GlobalExplanation

RISE, FALL, NEUTRAL = "#c2571a", "#1f5fa8", "#5a5a5a"
# One light and one dark shade per class, for areas and for points.
AREAS = ("#cfe0f3", "#f7dcc8", "#d9ead3", "#e6d9f0", "#fbeec2", "#dddddd")
POINTS = ("#1f5fa8", "#c2571a", "#3f7f2f", "#6f3f9f", "#9f7f0f", "#444444")


def axes_for(ax, width: float, height: float):
    """The given axes, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install matplotlib.") from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def without_frame(ax) -> None:
    """Leave the lines that carry a scale."""
    ax.spines[["top", "right"]].set_visible(False)


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


RESOLUTION = 400


def plot_regions(model, X, features, *, row=None, show_rows=True, ax=None):
    """Draw the predicted classes and the borders of the regions in the plane of two features.

    Parameters
    ----------
    model : estimator
        A fitted ℓ-DEP.
    X : array-like of shape (n_samples, n_features)
        Rows. They give the range of the picture, and are drawn as points in the colour of their predicted class.
    features : pair of str or int
        The two features, by name or number.
    row : array-like of shape (n_features,), default=None
        The values of all other features; None is the median of X.
    show_rows : bool, default=True
        Whether to draw the rows. They need not have the colour of the area around them: their other features differ.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes.
    """
    rows, names = check_rows(model, X), feature_names(model)
    across, up = (names.index(f) if isinstance(f, str) and f in names else f for f in features)
    for feature in (across, up):
        if isinstance(feature, str) or not 0 <= feature < len(names):
            raise ValueError(f"features names {feature!r}, which is not a feature of the model.")
    center = np.median(rows, axis=0) if row is None else np.asarray(row, dtype=float).ravel()
    ticks = [_range(rows[:, feature]) for feature in (across, up)]
    grid = np.tile(center, (RESOLUTION**2, 1))
    grid[:, across], grid[:, up] = (values.ravel() for values in np.meshgrid(*ticks))
    active = active_pieces(model.model_, grid)
    region = np.unique(active, axis=0, return_inverse=True)[1].reshape(RESOLUTION, RESOLUTION)
    label = class_numbers(model.model_.decision(grid)).reshape(RESOLUTION, RESOLUTION)

    ax = axes_for(ax, 6.5, 5.0)
    n_classes = len(model.classes_)
    colours = [AREAS[k % len(AREAS)] for k in range(n_classes)]
    ax.contourf(*ticks, label, levels=np.arange(n_classes + 1) - 0.5, colors=colours)
    border = _changes(region)
    ax.contourf(*ticks, border, levels=[0.5, 1.5], colors=NEUTRAL, alpha=0.5)
    ax.contour(*ticks, label, levels=np.arange(n_classes - 1) + 0.5, colors="black", linewidths=1.8)
    if show_rows:
        predicted = np.searchsorted(model.classes_, model.predict(X))
        for k in range(n_classes):
            own = rows[predicted == k]
            style = {"s": 12, "color": POINTS[k % len(POINTS)], "edgecolor": "white", "linewidth": 0.3}
            ax.scatter(own[:, across], own[:, up], label=f"predicted: {model.classes_[k]}", **style)
        ax.legend(loc="best", fontsize=8)
    ax.set(xlabel=names[across], ylabel=names[up], xlim=ticks[0][[0, -1]], ylim=ticks[1][[0, -1]])
    return ax


def _range(values: np.ndarray) -> np.ndarray:
    low, high = values.min(), values.max()
    room = 0.05 * (high - low) or 1.0
    return np.linspace(low - room, high + room, RESOLUTION)


def _changes(region: np.ndarray) -> np.ndarray:
    """1 where a pixel has a neighbour of another region."""
    border = np.zeros(region.shape)
    border[:, 1:] = region[:, 1:] != region[:, :-1]
    border[1:] = np.maximum(border[1:], region[1:] != region[:-1])
    return border


def plot_explanation(explanation: Explanation, row: int = 0, *, target: int | None = None, max_features=10, ax=None):
    """Draw the shares of the features in one decision.

    Parameters
    ----------
    explanation : Explanation
        What `explain` or `attribute` returned.
    row : int, default=0
        Number of the row.
    target : int, default=None
        Number of the class whose score is drawn, if the explanation has one set of contributions per class.
    max_features : int, default=10
        Number of features with a bar of their own. The others share one.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes.
    """
    shares, values_of_row = (
        (table[[row]].toarray() if sparse.issparse(table) else table[[row]])[0]
        for table in (explanation.contributions, explanation.data)
    )
    start, end = explanation.bias[row], explanation.decision[row]
    if explanation.per_class:
        if target is None:
            raise ValueError("The model has more than two classes: say by target which score to draw.")
        shares, start, end = shares[target], start[target], end[target]
    order = np.argsort(-np.abs(shares), kind="stable")
    shown = order[:max_features]
    labels = [f"{explanation.names[f]} = {values_of_row[f]:.4g}" for f in shown]
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
    score = "decision value" if target is None else f"score of class {target}"
    begins = "at the baseline" if explanation.label is None else "without the features"
    ax.set(xlabel=f"{score}: {start:.2f} {begins} (dotted), {end:.2f} at the row (dashed)")
    without_frame(ax)
    return ax
