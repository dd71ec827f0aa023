"""The figures on the page of one data set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipeline.reporting import drawing, labels
from pipeline.reporting.figure import Picture
from pipeline.reporting.own import curves
from pipeline.reporting.own.curves import Curve
from pipeline.reporting.own.dataset_report import DatasetReport

COLOURS = ("ldep", "svc", "network", "relative")
DASHES = ("-", (0, (5, 2)), (0, (2, 1.5)), (0, (6, 2, 1, 2)))
SIDE = 3.9  # inches of a square figure
MOST_COLUMNS = 12
MOST_LINES = 4  # in a legend beside which a curve still has room


def pictures(report: DatasetReport) -> list[Picture]:
    """Every figure for which the data set has something to show."""
    drawn = [_folds(report), _roc(report), _precision_recall(report), _calibration(report)]
    drawn += [_importance(report), _learning_curve(report)]
    return [picture for picture in drawn if picture is not None]


def _folds(report: DatasetReport) -> Picture | None:
    entries = report.ranked
    if not entries:
        return None
    factor = 100 if report.metric.is_share else 1
    with drawing.style():
        figure, axes = drawing.figure(drawing.WIDTH, drawing.height_of(len(entries)))
        for place, entry in enumerate(reversed(entries)):
            colour = drawing.colour("ldep" if entry.model == report.winner else "other")
            if entry.low is not None and entry.high is not None:
                axes.plot([factor * entry.low, factor * entry.high], [place, place], color=colour, linewidth=2)
            heights = place + np.linspace(-0.22, 0.22, len(entry.values))
            axes.scatter(factor * entry.values, heights, s=9, color=colour, linewidths=0, alpha=0.6)
            axes.scatter([factor * entry.mean], [place], s=42, color=colour, linewidths=0, zorder=3)
        axes.set_yticks(range(len(entries)), [labels.label(entry.model) for entry in reversed(entries)])
        axes.set(xlabel=f"{report.metric.title}{_unit(report)}", ylim=(-0.6, len(entries) - 0.4))
        drawing.horizontal(axes)
    caption = (
        "Large points are the means over the folds, small points the folds, and the lines 95 % intervals of the means. "
        "Intervals that overlap say little about two models: the comparison below looks at their differences."
    )
    return _picture(report, "folds", "Every model on every fold", caption, figure)


def _roc(report: DatasetReport) -> Picture | None:
    found = curves.roc(report)
    if not found:
        return None
    with drawing.style():
        figure, axes = _square("share of other rows taken for it", f"share of {_wanted(report)} that are found")
        axes.plot([0, 1], [0, 1], color=drawing.MUTED, linewidth=1, linestyle=":")
        _draw(axes, found, "area")
    caption = f"{_about(report)} A curve near the upper left corner is good; the dotted line is guessing."
    return _picture(report, "roc", "ROC curve", caption, figure)


def _precision_recall(report: DatasetReport) -> Picture | None:
    found = curves.precision_recall(report)
    if not found:
        return None
    with drawing.style():
        figure, axes = _square(f"share of {_wanted(report)} that are found", "share of alarms that are right")
        if report.is_binary:
            share = report.classes[report.positive] / sum(report.classes.values())
            axes.axhline(share, color=drawing.MUTED, linewidth=1, linestyle=":")
        _draw(axes, found, "average precision")
    guessing = " The dotted line is guessing." if report.is_binary else ""
    caption = f"{_about(report)} Where to stand on the curve is the choice of the threshold.{guessing}"
    return _picture(report, "precision_recall", "Precision and recall", caption, figure)


def _calibration(report: DatasetReport) -> Picture | None:
    found = curves.calibration(report)
    if not found:
        return None
    with drawing.style():
        figure, axes = _square("probability by the model", "share in the data")
        axes.plot([0, 1], [0, 1], color=drawing.MUTED, linewidth=1, linestyle=":")
        _draw(axes, found, "", marker="o")
    caption = (
        f"{_about(report)} Rows are grouped by their probability. On the dotted line, 30 % means that it happens in 30 "
        "of 100 cases. The sigmoid that turns scores into probabilities was fitted without the rows of the fold."
    )
    return _picture(report, "calibration", "Calibration", caption, figure)


def _importance(report: DatasetReport) -> Picture | None:
    importance = report.examination.get("importance")
    if not importance or not importance["columns"]:
        return None
    shares = importance["method"] == "shares"
    factor = 100 if shares or report.metric.is_share else 1
    shown = list(importance["columns"].items())[:MOST_COLUMNS]
    left_out = len(importance["columns"]) - len(shown)
    with drawing.style():
        figure, axes = drawing.figure(drawing.WIDTH, drawing.height_of(len(shown)))
        values = [factor * value for _, value in reversed(shown)]
        axes.barh(range(len(shown)), values, height=0.62, color=drawing.colour("ldep"))
        axes.set_yticks(range(len(shown)), [_short(column) for column, _ in reversed(shown)])
        xlabel = "share of the decision, %" if shares else f"loss of {report.metric.title}{_unit(report)}"
        axes.set(xlabel=xlabel, ylim=(-0.6, len(shown) - 0.4))
        drawing.horizontal(axes)
    if shares:
        caption = (
            f"The mean absolute share of each column in the decision values of {importance['rows']} unseen rows. "
            "The shares are exact: they come from the model's own pieces (explain_global)."
        )
    else:
        caption = (
            f"How much {report.metric.title} is lost on {importance['rows']} unseen rows when the cells of one column "
            "are shuffled. Of columns that say the same, each looks unimportant. A negative value is chance."
        )
    if left_out:
        caption += f" {labels.count_of(left_out, 'column')} with smaller values not shown."
    return _picture(report, "importance", "Columns by importance", caption, figure)


def _learning_curve(report: DatasetReport) -> Picture | None:
    points = [point for point in report.examination.get("learning_curve") or [] if point["score"] is not None]
    if len(points) < 2:
        return None
    factor = 100 if report.metric.is_share else 1
    rows, scores = [point["rows"] for point in points], [factor * point["score"] for point in points]
    with drawing.style():
        figure, axes = drawing.figure(drawing.WIDTH, 3.0)
        axes.plot(rows, scores, color=drawing.colour("ldep"), marker="o", linewidth=2)
        axes.set_xscale("log")
        axes.set_xticks(rows, [f"{number:,}" for number in rows])
        axes.minorticks_off()
        axes.margins(x=0.12, y=0.25)
        axes.set(xlabel="training rows", ylabel=f"{report.metric.title}{_unit(report)}")
    caption = (
        "The winner, fitted on parts of the first training fold and tested on the same unseen rows. One fold only: "
        "small steps up or down are chance."
    )
    return _picture(report, "learning_curve", "Would more rows help?", caption, figure)


def _draw(axes: Axes, found: Sequence[Curve], value_name: str, marker: str = "") -> None:
    """The first curve is the winner's, or all are of the winner."""
    one_model = len({curve.model for curve in found}) == 1
    for place, curve in enumerate(found):
        first = place == 0 or one_model
        name = f"{curve.label}, {value_name} {curve.value:.3f}" if curve.value is not None else curve.label
        axes.plot(
            curve.x,
            curve.y,
            label=name,
            color=drawing.colour(COLOURS[place % len(COLOURS)]),
            linestyle=DASHES[(place // len(COLOURS) if one_model else place) % len(DASHES)],
            linewidth=2 if first else 1.3,
            marker=marker,
            markersize=4,
        )
    # Below the axes: inside them, a legend always covers the interesting corner of one of the three curves.
    axes.figure.legend(loc="outside lower left", ncols=1 if len(found) <= MOST_LINES else 2)


def _square(xlabel: str, ylabel: str) -> tuple[Figure, Axes]:
    figure, axes = drawing.figure(SIDE, SIDE + 0.7)
    axes.set(xlabel=xlabel, ylabel=ylabel, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    return figure, axes


def _picture(report: DatasetReport, name: str, title: str, caption: str, figure: Figure) -> Picture:
    return Picture(f"{report.name}-{name}", title, caption, name, full_width=False, drawing=figure)


def _wanted(report: DatasetReport) -> str:
    return f"‘{_short(report.positive)}’" if report.is_binary else "the class"


def _about(report: DatasetReport) -> str:
    if report.is_binary:
        return f"The class in question is ‘{report.positive}’, the rarer one."
    shown = len(curves.shown_classes(report))
    of_all = "each class" if shown == len(report.classes) else f"each of the {shown} most frequent classes"
    return f"{labels.label(str(report.winner))}: {of_all} against all others."


def _unit(report: DatasetReport) -> str:
    return ", %" if report.metric.is_share else ""


def _short(name: str) -> str:
    return name if len(name) <= 28 else f"{name[:26]}…"
