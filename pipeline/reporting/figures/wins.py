"""Wins, ties and losses of each model against each other."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from pipeline.reporting import drawing, labels
from pipeline.reporting.figure import ReportFigure, Section
from pipeline.reporting.report_data import ReportData
from pipeline.reporting.significance import outcomes


def draw(data: ReportData) -> Figure | None:
    tally = outcomes(data.accuracies)
    models = list(tally.index)
    count = len(models)
    if count < 2:
        return None
    names = [labels.label(model) for model in models]
    with drawing.style():
        figure, axes = drawing.figure(1.6 + 0.55 * count, 1.1 + 0.36 * count)
        axes.grid(visible=False)
        for row, column in np.ndindex(count, count):
            if row == column:
                continue
            won, tied, lost = tally.loc[models[row], models[column]]
            lead = (won - lost) / max(won + tied + lost, 1)
            colour = drawing.colour("ldep" if lead > 0 else "svc")
            axes.bar(column, 1, 1, row - 0.5, color=colour, alpha=0.55 * abs(lead), linewidth=0)
            axes.text(column, row, f"{won}/{tied}/{lost}", ha="center", va="center", fontsize=7.5)
        axes.set_xticks(range(count), names, rotation=40, ha="left", color=drawing.INK)
        axes.set_yticks(range(count), names)
        axes.xaxis.tick_top()
        axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.tick_params(length=0)
        return figure


FIGURE = ReportFigure(
    name="wins",
    title="Wins / ties / losses",
    caption="The row's model against the column's, over the data sets. Blue: the row's model wins more often. Orange: "
    "the column's does. A tie is the same printed mean.",
    section=Section.TESTS,
    position=2,
    draw=draw,
    full_width=True,
)
