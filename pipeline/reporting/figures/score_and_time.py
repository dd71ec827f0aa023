"""Mean accuracy against the CPU time of a fold, with and without tuning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from pipeline.reporting import costs, drawing, labels
from pipeline.reporting.figure import ReportFigure, Section
from pipeline.reporting.report_data import ReportData

LABEL_STEP = 0.22  # inches between two labels
HEIGHT = 4.2


def draw(data: ReportData) -> Figure | None:
    accuracies, cost = data.accuracies, data.costs
    fits = costs.fits_per_model(data.results)
    if not accuracies.complete:
        return None
    with drawing.style():
        height = max(HEIGHT, 0.8 + LABEL_STEP * len(accuracies.complete))
        figure, axes = drawing.figure(drawing.WIDTH, height)
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
        front = pareto_front(list(points.values()))
        if len(front) > 1:
            seconds, means = zip(*front)
            axes.plot(seconds, means, color=drawing.INK, linewidth=1, linestyle=":", drawstyle="steps-post", zorder=0)
        axes.margins(x=0.12, y=0.08)
        low, high = axes.get_ylim()
        heights = spread_out([(mean - low) / (high - low) for _, mean in points.values()], LABEL_STEP / (height - 0.8))
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


def pareto_front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points (seconds, score) that no other point beats in both, from the fastest to the best."""
    front: list[tuple[float, float]] = []
    for seconds, score in sorted(points, key=lambda point: (point[0], -point[1])):
        if not front or score > front[-1][1]:
            front.append((seconds, score))
    return front


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
    "tuning. The dotted line is the Pareto front: no model is both faster, with its tuning, and better than one on it. "
    "Only models with a result on every data set are shown.",
    section=Section.RESULTS,
    position=3,
    draw=draw,
)
