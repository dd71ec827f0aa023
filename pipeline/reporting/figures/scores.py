"""The distribution of each model's score over the data sets."""

from __future__ import annotations

from matplotlib.figure import Figure

from pipeline.reporting import boxplot
from pipeline.reporting.figure import ReportFigure, Section
from pipeline.reporting.measures import Unit
from pipeline.reporting.report_data import ReportData


def draw(data: ReportData) -> Figure | None:
    means = data.scores.mean.dropna(axis="columns", how="all")
    if means.empty:
        return None
    models = data.measure.best_first(means.mean()).index
    is_time = data.measure.unit is Unit.SECONDS
    return boxplot.draw(means, list(models), f"{data.measure.axis}, on a data set", logarithmic=is_time)


FIGURE = ReportFigure(
    name="scores",
    title="{metric}",
    caption="Each point is a data set, by its mean over the folds. The box shows the quartiles and the median; the "
    "whiskers reach up to 1.5 times its length.",
    section=Section.RESULTS,
    position=1,
    draw=draw,
)
