"""The total CPU time of each model."""

from __future__ import annotations

from matplotlib.figure import Figure

from pipeline.reporting import drawing, labels
from pipeline.reporting.figure import ReportFigure, Section
from pipeline.reporting.report_data import ReportData


def draw(data: ReportData) -> Figure | None:
    cost = data.costs.sort_values("total")
    if data.accuracies.mean.isna().all(axis=None):
        return None
    with drawing.style():
        figure, axes = drawing.figure(drawing.WIDTH, drawing.height_of(len(cost)))
        for place, (model, row) in enumerate(cost.iterrows()):
            colour = drawing.colour(labels.family(str(model)))
            axes.barh(place, row["fitting"], color=colour, height=0.6)
            axes.barh(place, row["tuning"], left=row["fitting"], color=drawing.transparent(colour, 0.35), height=0.6)
            axes.annotate(
                f"{labels.duration(row['total'])} · {row['share']:.1%}",
                (row["total"], place),
                (5, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=drawing.MUTED,
            )
        axes.set_yticks(range(len(cost)), [labels.label(str(model)) for model in cost.index])
        axes.set(xlabel="CPU seconds: fits (solid), tuning (pale)")
        axes.margins(x=0.24)
        axes.set_xlim(left=0)
        drawing.horizontal(axes)
        return figure


FIGURE = ReportFigure(
    name="costs",
    title="Total CPU time",
    caption="CPU time of all fits and all tuning over all data sets and folds, and each model's share of the total.",
    section=Section.RESULTS,
    position=4,
    draw=draw,
)
