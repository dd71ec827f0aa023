"""The decision boundaries of all models on a data set with two features."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipeline.reporting import drawing, labels
from pipeline.reporting.figure import FigurePerDataset, Section
from pipeline.reporting.report_data import PlanarData, ReportData

COLUMNS = 4
POINTS = 250  # per panel; more would only hide each other
CLASS_COLOURS = (drawing.colour("ldep"), drawing.colour("svc"))


def draw(data: ReportData, dataset: str) -> Figure | None:
    planar = data.planar.get(dataset)
    models = [model for model in data.scores.models if planar is not None and model in planar.grids]
    if planar is None or not models:
        return None
    rows = -(-len(models) // COLUMNS)
    columns = min(COLUMNS, len(models))
    with drawing.style():
        figure, panels = drawing.figure(7.2, 0.4 + 1.9 * rows, rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes, model in zip(panels.flat, models):
            axes.grid(visible=False)
            _draw_regions(axes, planar, model)
            accuracy = data.accuracies.mean.loc[dataset, model]
            axes.set_title(labels.label(model) + ("" if np.isnan(accuracy) else f"\n{accuracy:.1f}"), fontsize=7.5)
            axes.set(xticks=[], yticks=[])
        drawing.hide_unused(panels, len(models))
        figure.supxlabel(planar.feature_names[0], fontsize=8, color=drawing.MUTED)
        figure.supylabel(planar.feature_names[1], fontsize=8, color=drawing.MUTED)
        return figure


def _draw_regions(axes: Axes, planar: PlanarData, model: str) -> None:
    """The regions of the two classes, the boundary between them, and some of the rows.

    Everything but the boundary is rasterised, in the SVG too: thousands of points would make a large file.
    """
    grid = planar.grids[model]
    value = np.reshape(grid["value"], (len(grid["y"]), len(grid["x"])))
    levels = [min(value.min(), 0.0) - 1, 0.0, max(value.max(), 0.0) + 1]
    axes.contourf(grid["x"], grid["y"], value, levels=levels, colors=CLASS_COLOURS, alpha=0.25).set_rasterized(True)
    axes.contour(grid["x"], grid["y"], value, levels=[0.0], colors=drawing.INK, linewidths=1, zorder=3)
    shown = slice(None, None, max(1, len(planar.y) // POINTS))
    for label, colour in zip(np.unique(planar.y), CLASS_COLOURS):
        points = planar.X[shown][planar.y[shown] == label]
        axes.scatter(points[:, 0], points[:, 1], s=2, color=colour, rasterized=True)


FIGURE = FigurePerDataset(
    name="boundaries",
    title="Decision boundaries",
    caption="The models of fold 0, with their mean accuracy over the folds. Only some of the rows are drawn.",
    section=Section.TRAINING,
    position=3,
    draw=draw,
    full_width=True,
)
