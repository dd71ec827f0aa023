"""The objective of each model during its training."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from pipeline.reporting import drawing, labels
from pipeline.reporting.figure import ReportFigure, Section
from pipeline.reporting.report_data import ReportData

COLUMNS = 2
POINTS = 24  # per curve: more cannot be seen, and the page should stay small
FLOOR = 1e-3


def draw(data: ReportData) -> Figure | None:
    curves = data.curves[data.curves["fold"] == 0]
    models = [model for model in data.scores.models if model in set(curves["model"])]
    if not models:
        return None
    rows = -(-len(models) // COLUMNS)
    with drawing.style():
        height = 0.5 + 1.4 * rows
        figure, panels = drawing.figure(drawing.WIDTH, height, rows, COLUMNS, sharex=True, sharey=True, squeeze=False)
        for axes, model in zip(panels.flat, models):
            colour = drawing.colour(labels.family(model))
            for _, curve in curves[curves["model"] == model].groupby("dataset", sort=False):
                curve = curve.iloc[np.unique(np.linspace(0, len(curve) - 1, POINTS).astype(int))]
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


FIGURE = ReportFigure(
    name="convergence",
    title="Convergence",
    caption="One line per data set, from fold 0. Both axes are logarithmic; values below a thousandth are drawn at a "
    "thousandth.",
    section=Section.TRAINING,
    position=2,
    draw=draw,
)
