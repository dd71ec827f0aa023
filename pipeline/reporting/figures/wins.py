"""Wins, ties and losses of each model against each other."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from pipeline.reporting import drawing, labels
from pipeline.reporting.figure import ReportFigure, Section
from pipeline.reporting.report_data import ReportData
from pipeline.reporting.significance import outcomes

NARROWEST = 6.3  # inches: the page would enlarge a smaller figure
MOST = 14  # models: with more, the columns are our models only, because nobody reads a thousand cells


def draw(data: ReportData) -> Figure | None:
    tally = outcomes(data.scores)
    models = [model for model in tally.index if data.scores.mean[model].notna().any()]
    if len(models) < 2:
        return None
    others = models if len(models) <= MOST else [model for model in labels.OURS if model in models] or models[:MOST]
    with drawing.style():
        figure, axes = drawing.figure(max(NARROWEST, 1.6 + 0.55 * len(others)), 1.1 + 0.28 * len(models))
        axes.grid(visible=False)
        for row, column in np.ndindex(len(models), len(others)):
            if models[row] == others[column]:
                continue
            won, tied, lost = tally.loc[models[row], others[column]]
            lead = (won - lost) / max(won + tied + lost, 1)
            colour = drawing.colour("ldep" if lead > 0 else "svc")
            axes.bar(column, 1, 1, row - 0.5, color=colour, alpha=0.55 * abs(lead), linewidth=0)
            axes.text(column, row, f"{won}/{tied}/{lost}", ha="center", va="center", fontsize=7.5)
        titles = [labels.label(model) for model in others]
        axes.set_xticks(range(len(others)), titles, rotation=40, ha="left", color=drawing.INK)
        axes.set_yticks(range(len(models)), [labels.label(model) for model in models])
        axes.xaxis.tick_top()
        axes.set(xlim=(-0.5, len(others) - 0.5), ylim=(len(models) - 0.5, -0.5))
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
