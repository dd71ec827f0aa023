"""The tables on the page of one data set."""

from __future__ import annotations

import numpy as np

from pipeline.reporting import labels
from pipeline.reporting.own.dataset_report import DatasetReport
from pipeline.reporting.own.leaderboard import Entry
from pipeline.reporting.own.metric_text import MetricText
from pipeline.reporting.table import Cell, Column, Style, Table, missing, number, without_empty_columns

MOST_OTHER_METRICS = 4
MOST_CLASSES = 20  # of a confusion matrix


def leaderboard(report: DatasetReport) -> Table:
    """One row per model, the best first: the chosen metric with its interval, some others, and the time."""
    others = [metric for metric in report.other_metrics if _has_values(report, metric)][:MOST_OTHER_METRICS]
    rows = []
    for entry in report.leaderboard:
        rows.append(
            [
                _model(report, entry.model),
                _score(report, entry),
                *(_mean(entry.other_means.get(metric.name), metric) for metric in others),
                _duration(entry.fit_seconds),
                _duration(entry.tune_seconds),
            ]
        )
    columns = [Column("Model", "left"), Column(report.metric.title + report.metric.unit)]
    columns += [Column(metric.title + metric.unit) for metric in others]
    return without_empty_columns(Table([*columns, Column("CPU time, fits"), Column("CPU time, tuning")], rows))


def comparisons(report: DatasetReport) -> Table | None:
    """One row per other model: how far the winner is ahead, and whether that is clear."""
    styles: dict[str, Style] = {"better": "good", "worse": "bad"}
    metric, rows = report.metric, []
    for comparison in report.comparisons:
        interval = missing("the same in every fold")
        if comparison.low is not None and comparison.high is not None:
            text = f"{metric.difference(comparison.low)} to {metric.difference(comparison.high)}"
            interval = Cell(text, comparison.low)
        rows.append(
            [
                Cell(labels.label(comparison.other)),
                Cell(metric.difference(comparison.difference), comparison.difference),
                interval,
                number(comparison.folds_won, 0),
                number(comparison.folds_lost, 0),
                Cell(comparison.verdict, style=styles.get(comparison.verdict, "neutral")),
            ]
        )
    unit = ", points" if metric.is_share else ""
    columns = [Column("Compared with", "left"), Column(f"Lead of the winner{unit}"), Column("Interval")]
    return Table([*columns, Column("Folds won"), Column("Folds lost"), Column("The winner is")], rows) if rows else None


def confusion(report: DatasetReport) -> Table | None:
    """True classes in rows, predicted classes in columns, counted on rows that the model had not seen."""
    counts = confusion_counts(report)
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


def confusion_counts(report: DatasetReport) -> np.ndarray | None:
    """Rows by true and predicted class, at the threshold of the final model; None if the winner has no scores."""
    if report.winner not in report.scores:
        return None
    scores, names = report.scores[str(report.winner)], list(report.classes)
    tested = np.isfinite(scores).all(axis=1)
    if report.is_binary:
        # The two columns are -d/2 and d/2.
        predicted = (scores[tested, 1] - scores[tested, 0] >= report.threshold).astype(int)
    else:
        predicted = scores[tested].argmax(axis=1)
    truth = np.searchsorted(names, report.y[tested])
    counts = np.zeros((len(names), len(names)), dtype=int)
    np.add.at(counts, (truth, predicted), 1)
    return counts


def profile(report: DatasetReport) -> Table | None:
    """One row per raw column: what it contains and what is done with it."""
    if not report.profile:
        return None
    total, rows = report.profile["rows"], []
    for column in report.profile["columns"]:
        gaps = column["gaps"]
        treatment = f"left out: {column['drop']}" if column.get("drop") else column.get("treatment", "")
        rows.append(
            [
                Cell(column["name"]),
                Cell(column["kind"]),
                Cell(labels.percent(gaps / total) if gaps else "", gaps),
                Cell(f"{column['distinct']:,}", column["distinct"]),
                Cell(column["example"]),
                Cell(treatment),
                Cell("; ".join(column.get("remarks", ()))),
            ]
        )
    columns = [Column("Column", "left"), Column("Kind", "left"), Column("Missing"), Column("Distinct values")]
    columns += [Column("First value", "left"), Column("What is done with it", "left", wraps=True)]
    columns.append(Column("Look at", "left", wraps=True))
    return without_empty_columns(Table(columns, rows))


def failures(report: DatasetReport) -> Table | None:
    """One row per fit that failed."""
    fits = report.results.drop_duplicates(["model", "fold"])
    rows = [
        [Cell(labels.label(fit.model)), number(fit.fold, 0), Cell(fit.message)]
        for fit in fits[fits["status"] == "failed"].itertuples()
    ]
    columns = [Column("Model", "left"), Column("Fold"), Column("Message", "left", wraps=True)]
    return Table(columns, rows) if rows else None


def _model(report: DatasetReport, model: str) -> Cell:
    return Cell(labels.label(model), note="winner" if model == report.winner else "")


def _score(report: DatasetReport, entry: Entry) -> Cell:
    if entry.problem is not None:
        return missing(entry.problem)
    metric = report.metric
    interval = (
        "" if entry.low is None or entry.high is None else f"{metric.text(entry.low)} to {metric.text(entry.high)}"
    )
    best = bool(report.ranked) and metric.text(entry.mean) == metric.text(report.ranked[0].mean)
    return Cell(metric.text(entry.mean), entry.mean, best=best, note=interval)


def _has_values(report: DatasetReport, metric: MetricText) -> bool:
    return any(np.isfinite(entry.other_means.get(metric.name, np.nan)) for entry in report.leaderboard)


def _mean(value: float | None, metric: MetricText) -> Cell:
    return missing() if value is None or np.isnan(value) else Cell(metric.text(value), value)


def _duration(seconds: float) -> Cell:
    return Cell(labels.duration(seconds) if seconds else "", seconds)


def _share(part: float, total: float) -> Cell:
    return Cell(labels.percent(part / total), float(part / total)) if total else missing()
