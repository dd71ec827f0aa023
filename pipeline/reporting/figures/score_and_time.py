"""The mean score against the CPU time of a fold, with and without tuning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from pipeline.reporting import costs, drawing, labels
from pipeline.reporting.figure import ReportFigure, Section
from pipeline.reporting.measures import Unit
from pipeline.reporting.report_data import ReportData

LABEL_STEP = 0.22  # inches between two labels
HEIGHT = 4.2
FENCE = 3.0  # quartile distances


def draw(data: ReportData) -> Figure | None:
    measure, means, cost = data.measure, data.scores.best_first(), data.costs
    fits = costs.fits_per_model(data.results)
    if means.empty or measure.unit is Unit.SECONDS:
        return None
    limit = fence(means.to_numpy(), measure.higher_is_better)
    with drawing.style():
        height = max(HEIGHT, 0.8 + LABEL_STEP * len(means))
        figure, axes = drawing.figure(drawing.WIDTH, height)
        axes.set_xscale("log")
        drawing.plain_numbers(axes.xaxis)
        points = {}
        for model, score in means[::-1].items():  # the better of two that are drawn at the edge is labelled above
            colour = drawing.colour(labels.family(model))
            mean = max(score, limit) if measure.higher_is_better else min(score, limit)
            fit, with_tuning = cost["fitting"][model] / fits[model], cost["total"][model] / fits[model]
            if with_tuning > 1.05 * fit:
                axes.plot([fit, with_tuning], [mean, mean], color=colour, linewidth=1, alpha=0.6)
                axes.scatter([with_tuning], [mean], s=34, facecolors="none", edgecolors=colour, linewidths=1.3)
            axes.scatter([fit], [mean], s=38, color=colour)
            points[model] = (with_tuning, mean)
        front = pareto_front(list(points.values()), measure.higher_is_better)
        if len(front) > 1:
            seconds, best = zip(*front)
            axes.plot(seconds, best, color=drawing.INK, linewidth=1, linestyle=":", drawstyle="steps-post", zorder=0)
        axes.margins(x=0.12, y=0.08)
        if not measure.higher_is_better:
            axes.invert_yaxis()  # better is always up
        low, high = axes.get_ylim()
        heights = spread_out([(mean - low) / (high - low) for _, mean in points.values()], LABEL_STEP / (height - 0.8))
        for (model, point), height in zip(points.items(), heights):
            colour = drawing.colour(labels.family(model))
            line = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "alpha": 0.5, "shrinkB": 4}
            is_beyond = point[1] != means[model]
            axes.annotate(
                labels.label(model) + (f" ({measure.text(means[model])})" if is_beyond else ""),
                point,
                (1.03, height),
                textcoords="axes fraction",
                va="center",
                fontsize=8,
                color=colour,
                arrowprops={**line, "relpos": (0, 0.5)},
            )
        axes.set(xlabel="CPU seconds per fold (hollow: with tuning)", ylabel=f"mean {measure.axis}")
        axes.tick_params(length=0, which="both", labelcolor=drawing.MUTED)
        return figure


def fence(means: np.ndarray, higher_is_better: bool) -> float:
    """Where the axis ends on the side of bad scores: a single bad one would leave no room for the others."""
    first, third = np.quantile(means, [0.25, 0.75])
    reach = FENCE * (third - first)
    return float(max(means.min(), first - reach) if higher_is_better else min(means.max(), third + reach))


def pareto_front(points: Sequence[tuple[float, float]], higher_is_better: bool = True) -> list[tuple[float, float]]:
    """The points (seconds, score) that no other point beats in both, from the fastest to the best."""
    sign = 1 if higher_is_better else -1
    front: list[tuple[float, float]] = []
    for seconds, goodness in sorted(((seconds, sign * score) for seconds, score in points), key=_fastest_first):
        if not front or goodness > sign * front[-1][1]:
            front.append((seconds, sign * goodness))
    return front


def _fastest_first(point: tuple[float, float]) -> tuple[float, float]:
    seconds, goodness = point
    return seconds, -goodness


def spread_out(places: Sequence[float], step: float) -> list[float]:
    """Move places on a line as little as needed for neighbours to be a step apart."""
    order = np.argsort(places, kind="stable")
    moved = np.array(places)[order]
    for _ in range(200):  # neighbours that are too near push each other
        gaps = step - np.diff(moved)
        push = np.where(gaps > 1e-6, gaps / 2, 0.0)
        moved[:-1] -= push
        moved[1:] += push
    highest = 1.02  # no label above the axes
    for place in reversed(range(len(moved))):
        moved[place] = min(moved[place], highest)
        highest = moved[place] - step
    unsorted = np.empty(len(moved))
    unsorted[order] = moved
    return unsorted.tolist()


FIGURE = ReportFigure(
    name="score_and_time",
    title="{metric} against time",
    caption="Upper left is better. A filled point is the fit alone, a hollow one includes the fold's share of the "
    "tuning. The dotted line is the Pareto front: no model is both faster, with its tuning, and better than one on it. "
    "Only models with a result on every data set are shown; one far behind the others is drawn at the lower edge, with "
    "its score.",
    section=Section.RESULTS,
    position=3,
    draw=draw,
    for_every_metric=True,
)
