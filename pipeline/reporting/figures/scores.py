"""The distribution of each model's accuracy over the data sets."""

from __future__ import annotations

from matplotlib.figure import Figure

from pipeline.reporting import boxplot
from pipeline.reporting.figure import ReportFigure, Section
from pipeline.reporting.report_data import ReportData


def draw(data: ReportData) -> Figure | None:
    means = data.accuracies.mean.dropna(axis="columns", how="all")
    if means.empty:
        return None
    models = means.mean().sort_values(ascending=False, kind="stable").index
    return boxplot.draw(means, list(models), "accuracy on a data set, %")


FIGURE = ReportFigure(
    name="scores",
    title="Accuracy",
    caption="Each point is a data set, by its mean over the folds. The box shows the quartiles and the median; the "
    "whiskers reach up to 1.5 times its length.",
    section=Section.RESULTS,
    position=1,
    draw=draw,
)
