"""How the models were tuned and trained: chosen pieces, convergence, and decision boundaries in the plane."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ldep_pipeline.report import drawing, labels
from ldep_pipeline.report.figures import report_figure
from ldep_pipeline.report.report_data import PlanarData, ReportData

# Setting, title of its panel, colour.
PANELS = (("r1", "r1, pieces of the dilation", "ldep"), ("r2", "r2, pieces of the erosion", "svc"))
AREA_PER_FOLD = 26
TICKS = (1, 2, 5, 10, 20, 40)
CURVE_COLUMNS = 2
CURVE_POINTS = 24  # per curve: more cannot be seen, and the page should stay small
FLOOR = 1e-3
REGION_COLUMNS = 4
REGION_POINTS = 250  # per panel; more would only hide each other
CLASS_COLOURS = (drawing.colour("ldep"), drawing.colour("svc"))


@report_figure(
    "training",
    "Pieces chosen by tuning",
    "The area of a point is proportional to the number of folds that chose this number of pieces. The axes are "
    "logarithmic.",
)
def chosen(data: ReportData) -> Figure | None:
    choices = _choices(data)
    if not choices:
        return None
    datasets = list(dict.fromkeys(dataset for dataset, _ in choices))
    largest = max(settings[name] for _, settings in choices for name, _, _ in PANELS)
    figure, panels = drawing.figure(
        drawing.WIDTH, 1.0 + 0.24 * len(datasets), 1, len(PANELS), sharey=True, squeeze=False
    )
    for axes, (name, title, family) in zip(panels[0], PANELS):
        folds = Counter((settings[name], len(datasets) - 1 - datasets.index(dataset)) for dataset, settings in choices)
        for count in sorted(set(folds.values())):
            x, y = zip(*(place for place, number in folds.items() if number == count))
            area = AREA_PER_FOLD * count
            axes.scatter(x, y, s=area, color=drawing.colour(family), alpha=0.75, linewidths=0)
        axes.set_xscale("log")
        axes.set_xticks([tick for tick in TICKS if tick <= largest])
        drawing.plain_numbers(axes.xaxis)
        axes.set_yticks(range(len(datasets)), [labels.title(dataset) for dataset in reversed(datasets)])
        axes.set(title=title, xlim=(0.8, 1.25 * largest), ylim=(-0.7, len(datasets) - 0.3))
        axes.spines["left"].set_visible(False)
        axes.tick_params(length=0)
    return figure


@report_figure(
    "training",
    "Convergence",
    "One line per data set, from fold 0. Both axes are logarithmic; values below a thousandth are drawn at a "
    "thousandth.",
)
def convergence(data: ReportData) -> Figure | None:
    curves = data.curves[data.curves["fold"] == 0]
    models = [model for model in data.scores.models if model in set(curves["model"])]
    if not models:
        return None
    rows = -(-len(models) // CURVE_COLUMNS)
    height = 0.5 + 1.4 * rows
    figure, panels = drawing.figure(drawing.WIDTH, height, rows, CURVE_COLUMNS, sharex=True, sharey=True, squeeze=False)
    for axes, model in zip(panels.flat, models):
        colour = drawing.colour(labels.family(model))
        for _, curve in curves[curves["model"] == model].groupby("dataset", sort=False):
            curve = curve.iloc[np.unique(np.linspace(0, len(curve) - 1, CURVE_POINTS).astype(int))]
            start = curve["objective"].iloc[0]
            share = curve["objective"] / start if start > 0 else curve["objective"]
            iterations = curve["iteration"].clip(lower=1)
            axes.plot(iterations, share.clip(lower=FLOOR), linewidth=1, alpha=0.65, color=colour)
        axes.set(title=labels.label(model), xscale="log", yscale="log", ylim=(0.8 * FLOOR, 3))
        drawing.plain_numbers(axes.xaxis, axes.yaxis)
        axes.tick_params(length=0, which="both")
    drawing.hide_unused(panels, len(models))
    figure.supxlabel("iteration or epoch", fontsize=9, color=drawing.MUTED)
    figure.supylabel("objective relative to its first value", fontsize=9, color=drawing.MUTED)
    return figure


@report_figure(
    "training",
    "Decision boundaries",
    "The models of fold 0, with their mean accuracy over the folds. Only some of the rows are drawn.",
    full_width=True,
)
def boundaries(data: ReportData) -> dict[str, Figure]:
    """One figure per data set with two features."""
    return {
        dataset: figure
        for dataset, planar in data.planar.items()
        if (figure := _boundaries(data, dataset, planar)) is not None
    }


def _choices(data: ReportData) -> list[tuple[str, dict[str, int]]]:
    """The data set and settings of each tuned fit of a model that has both r1 and r2."""
    results = data.results[(data.results["trials"] > 0) & (data.results["status"] != "failed")]
    fits = results.drop_duplicates(["dataset", "model", "fold"])
    tuned = [(fit.dataset, json.loads(fit.settings)) for fit in fits.itertuples()]
    return [(dataset, settings) for dataset, settings in tuned if "r1" in settings and "r2" in settings]


def _boundaries(data: ReportData, dataset: str, planar: PlanarData) -> Figure | None:
    models = [model for model in data.scores.models if model in planar.grids]
    if not models:
        return None
    rows = -(-len(models) // REGION_COLUMNS)
    columns = min(REGION_COLUMNS, len(models))
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
    shown = slice(None, None, max(1, len(planar.y) // REGION_POINTS))
    for label, colour in zip(np.unique(planar.y), CLASS_COLOURS):
        points = planar.X[shown][planar.y[shown] == label]
        axes.scatter(points[:, 0], points[:, 1], s=2, color=colour, rasterized=True)
