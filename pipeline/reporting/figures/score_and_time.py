"""Mean accuracy against the CPU time of a fold, with and without tuning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from pipeline.reporting import costs, drawing, labels
from pipeline.reporting.figure import ReportFigure, Section
from pipeline.reporting.report_data import ReportData

LABEL_STEP = 0.055  # between two labels, as a share of the axes' height


def draw(data: ReportData) -> Figure | None:
    accuracies, cost = data.accuracies, data.costs
    fits = costs.fits_per_model(data.results)
    if not accuracies.complete:
        return None
    with drawing.style():
        figure, axes = drawing.figure(drawing.WIDTH, 4.2)
        axes.set_xscale("log")
        drawing.plain_numbers(axes.xaxis)
        points = {}
        for model in accuracies.complete:
            colour, mean = drawing.colour(labels.family(model)), accuracies.mean[model].mean()
            fit, with_tuning = cost["fitting"][model] / fits[model], cost["total"][model] / fits[model]
            if with_tuning > 1.05 * fit:
                axes.plot([fit, with_tuning], [mean, mean], color=colour, linewidth=1, alpha=0.6)
                axes.scatter([with_tuning], [mean], s=34, facecolors="none", edgecolors=colour, linewidths=1.3)
            axes.scatter([fit], [mean], s=38, color=colour)
            points[model] = (with_tuning, mean)
        axes.margins(x=0.12, y=0.08)
        low, high = axes.get_ylim()
        heights = spread_out([(mean - low) / (high - low) for _, mean in points.values()], LABEL_STEP)
        for (model, point), height in zip(points.items(), heights):
            colour = drawing.colour(labels.family(model))
            line = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "alpha": 0.5, "shrinkB": 4}
            axes.annotate(
                labels.label(model),
                point,
                (1.03, height),
                textcoords="axes fraction",
                va="center",
                fontsize=8,
                color=colour,
                arrowprops={**line, "relpos": (0, 0.5)},
            )
        axes.set(xlabel="CPU seconds per fold (hollow: with tuning)", ylabel="mean accuracy, %")
        axes.tick_params(length=0, which="both", labelcolor=drawing.MUTED)
        return figure


def spread_out(places: Sequence[float], step: float) -> list[float]:
    """Move places on a line as little as needed for neighbours to be a step apart."""
    order = np.argsort(places, kind="stable")
    moved = np.array(places)[order]
    for _ in range(200):  # neighbours that are too near push each other
        gaps = step - np.diff(moved)
        push = np.where(gaps > 1e-6, gaps / 2, 0.0)
        moved[:-1] -= push
        moved[1:] += push
    if len(moved):
        moved += min(0.0, 1.02 - moved[-1])  # no label above the axes
    unsorted = np.empty(len(moved))
    unsorted[order] = moved
    return unsorted.tolist()


FIGURE = ReportFigure(
    name="score_and_time",
    title="Accuracy against time",
    caption="Upper left is better. A filled point is the fit alone, a hollow one includes the fold's share of the "
    "tuning. Only models with a result on every data set are shown.",
    section=Section.RESULTS,
    position=3,
    draw=draw,
)
