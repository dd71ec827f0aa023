"""What the model of one data set does: its curves, its errors, and what it looks at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from markupsafe import Markup

from ldep_pipeline.metrics.metric import METRICS, Metric
from ldep_pipeline.report import figures, labels, page
from ldep_pipeline.report.page import Block, Text, section
from ldep_pipeline.report.report_data import DatasetReport
from ldep_pipeline.report.table import Cell, Column, Table, missing

MOST_CLASSES = 20  # of a confusion matrix
REST = "the others"
LONGEST = 24  # characters of a cell


@section("curves", "Curves", DatasetReport)
def curves(report: DatasetReport) -> Iterator[Block | None]:
    drawn = page.figures(figures.of_section("curves", report), "three")
    if drawn is not None:
        yield page.note("Every row was scored by a model that had not seen it.")
        yield drawn


@section("errors", "Errors", DatasetReport)
def errors(report: DatasetReport) -> Iterator[Block | None]:
    table = confusion_table(report)
    if table is not None:
        yield page.note(confusion_note(report))
        yield page.table(table, "table-confusion")


@section("model", "What the winner looks at", DatasetReport)
def looks_at(report: DatasetReport) -> Iterator[Block | None]:
    yield page.figures(figures.of_section("model", report))
    rows = report.examination.get("rows") or {}
    if rows.get("typical") or rows.get("wrong"):
        yield page.note(_rows_note(report))
    for kind, title in (("typical", "Typical rows"), ("wrong", "The clearest mistakes")):
        if rows.get(kind):
            yield page.heading(title)
            cards = Markup("").join(_explained(row, rows["exact"]) for row in rows[kind])
            yield Text(Markup('<div class="row-cards">{}</div>').format(cards))
    for problem in report.examination.get("problems", []):
        yield page.note(f"Not available: {problem}")


def confusion_table(report: DatasetReport) -> Table | None:
    """True classes in rows, predicted classes in columns, counted on rows that the model had not seen."""
    counts = report.confusion
    if counts is None or len(report.classes) > MOST_CLASSES:
        return None
    names, rows = list(report.classes), []
    for place, name in enumerate(names):
        total = int(counts[place].sum())
        cells = [
            Cell(f"{count:,}", int(count), best=place == column, note=labels.percent(count / total) if total else "")
            for column, count in enumerate(counts[place])
        ]
        rows.append([Cell(f"is {name}"), *cells, Cell(f"{total:,}", total)])
    precision = [_share(counts[place, place], counts[:, place].sum()) for place in range(len(names))]
    summary = [[Cell("predictions that are right"), *precision, _share(np.trace(counts), counts.sum())]]
    columns = [Column("", "left"), *(Column(f"predicted {name}") for name in names), Column("rows")]
    return Table(columns, rows, summary)


def confusion_note(report: DatasetReport) -> str:
    text = "True classes in rows, predicted classes in columns, counted on unseen rows; the correct ones are bold."
    if report.positive is None:
        return text
    if report.threshold:
        metric = _threshold_metric(report).noun
        return (
            f"{text} The decision value of a row is compared with a threshold that the other folds have chosen for "
            f"{metric}{_effect(report)}. The threshold of the final model is {report.threshold:.4g}."
        )
    return f"{text} The threshold of the decision value is 0."


def _effect(report: DatasetReport) -> str:
    """What the choice of the threshold gained, if that is known."""
    record, metric = report.record or {}, _threshold_metric(report)
    chosen, default = record.get("metric_at_threshold"), record.get("metric_at_default")
    if chosen is None or default is None:
        return ""
    return f": {metric.text(chosen)}{metric.unit} instead of {metric.text(default)}{metric.unit} at 0"


def _threshold_metric(report: DatasetReport) -> Metric:
    return METRICS[(report.record or {}).get("threshold_metric", report.metric.name)]


def _rows_note(report: DatasetReport) -> str:
    """How the bars are to be read."""
    rows = report.examination.get("rows") or {}
    start = "Bars to the right speak for the predicted class, bars to the left against it."
    if rows.get("exact"):
        return f"{start} The parts are exact: they sum to the difference from the average row."
    return (
        f"{start} A bar shows how much the margin falls if this column alone had its average value: an approximation, "
        "because this model has no exact explanation."
    )


def _explained(row: Mapping[str, Any], exact: bool) -> Markup:
    """A card with one bar per column, for or against the predicted class. The longest fills half of its cell."""
    columns = [(item["column"], item["value"], item["part"]) for item in row["columns"]]
    if exact and row["rest"]:
        columns.append((REST, "", row["rest"]))
    longest = max((abs(part) for _, _, part in columns), default=0.0) or 1.0
    line = Markup(
        '<tr><td class="column">{}</td><td class="cell">{}</td><td class="bar"><span class="{}" style="width:{}%">'
        '</span></td><td class="part">{}</td></tr>\n'
    )
    lines = [
        line.format(
            column,
            value if len(value) <= LONGEST else f"{value[: LONGEST - 2]}…",
            "for" if part >= 0 else "against",
            round(50 * abs(part) / longest) if longest >= 0.01 else 0,
            f"{part:+.2f}".replace("-", "−") if abs(part) >= 0.005 else "0.00",
        )
        for column, value, part in columns
    ]
    text = f"Margin of {row['predicted']} over {row['rival']}: {row['margin']:.2f}"
    if row["start"] is not None:
        text += f"; of the average row: {row['start']:.2f}".replace("-", "−")
        if abs(row["margin"] - row["start"]) < 0.05 * abs(row["margin"]):
            text += ". To the model this row is much like the average row"
    outcome = Markup(" predicted and right")
    if row["truth"] != row["predicted"]:
        outcome = Markup(" predicted, but it is <b>{}</b>").format(row["truth"])
    card = Markup(
        '<div class="row-card">\n<p><b>{}</b>{} <small>row {}</small></p>\n<table class="parts">\n{}</table>\n'
        '<p class="note">{}.</p>\n</div>'
    )
    return card.format(row["predicted"], outcome, row["row"] + 1, Markup("").join(lines), text)


def _share(part: float, total: float) -> Cell:
    return Cell(labels.percent(part / total), float(part / total)) if total else missing()
