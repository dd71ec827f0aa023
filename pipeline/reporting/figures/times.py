"""The distribution of each model's training time over the data sets."""

from __future__ import annotations

from matplotlib.figure import Figure

from pipeline.reporting import boxplot, costs
from pipeline.reporting.figure import ReportFigure, Section
from pipeline.reporting.report_data import ReportData


def draw(data: ReportData) -> Figure | None:
    seconds = costs.fit_seconds(data.results).dropna(axis="columns", how="all")
    if seconds.empty:
        return None
    models = seconds.median().sort_values(kind="stable").index
    return boxplot.draw(seconds, list(models), "CPU seconds per fit, without tuning", logarithmic=True)


FIGURE = ReportFigure(
    name="times",
    title="Training time",
    caption="Each point is a data set: the mean CPU time of a fit on a training fold. The axis is logarithmic.",
    section=Section.RESULTS,
    position=2,
    draw=draw,
)
