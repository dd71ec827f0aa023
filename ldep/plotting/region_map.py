"""The regions of a model in the plane of two features."""

from __future__ import annotations

import numpy as np

from ldep.exact.models import Average
from ldep.exact.rows import check_rows, feature_names
from ldep.plotting.axes import AREAS, NEUTRAL, POINTS, axes_for

RESOLUTION = 400


def plot_regions(model, X, features, *, row=None, show_rows=True, ax=None):
    """Draw the predicted classes and the borders of the regions in the plane of two features.

    Parameters
    ----------
    model : estimator
        A trained model that has `attribute`.
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
    view = model._exact_model()
    members = view.members if isinstance(view, Average) else [view]
    active = np.column_stack([scores.argmax(axis=1) for member in members for scores in member.scores(grid)])
    region = np.unique(active, axis=0, return_inverse=True)[1].reshape(RESOLUTION, RESOLUTION)
    tau = model._tau(grid)
    label = ((tau >= 0).astype(int) if tau.ndim == 1 else tau.argmax(axis=1)).reshape(RESOLUTION, RESOLUTION)

    ax = axes_for(ax, 6.5, 5.0)
    n_classes = len(model.classes_)
    colours = [AREAS[k % len(AREAS)] for k in range(n_classes)]
    ax.contourf(*ticks, label, levels=np.arange(n_classes + 1) - 0.5, colors=colours)
    border = _changes(region)
    ax.contourf(*ticks, border, levels=[0.5, 1.5], colors=NEUTRAL, alpha=0.5)
    if tau.ndim == 1:
        ax.contour(*ticks, tau.reshape(label.shape), levels=[0.0], colors="black", linewidths=1.8)
    else:
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
