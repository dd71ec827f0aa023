"""The page of one data set, and the overview of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.reporting import labels, renderers
from pipeline.reporting.figure import Picture
from pipeline.reporting.own import explanations, findings, model_card, tables, usage
from pipeline.reporting.own.dataset_report import DatasetReport
from pipeline.reporting.table import Cell, Column, Table
from pipeline.reporting.templates import fill

# Anchor and title. A section without content is left out, with its link.
SECTIONS = {
    "summary": "Summary",
    "failures": "Failed fits",
    "leaderboard": "Leaderboard",
    "comparison": "Is the winner better?",
    "curves": "Curves",
    "errors": "Errors",
    "model": "What the winner looks at",
    "profile": "Data",
    "use": "Use it",
    "limits": "Limits",
    "provenance": "Provenance",
}


@dataclass(frozen=True)
class Card:
    """One of the few numbers that most readers come for."""

    name: str
    value: str
    unit: str
    note: str
    family: str = ""


def file_name(dataset: str) -> str:
    return f"{dataset}.html"


def render(report: DatasetReport, pictures: Sequence[tuple[Picture, str]], provenance: Mapping[str, str]) -> str:
    """pictures: each with its SVG. provenance: what the report was made with, {term: text}."""
    shown_tables = {
        "failures": tables.failures(report),
        "leaderboard": tables.leaderboard(report),
        "comparisons": tables.comparisons(report),
        "confusion": tables.confusion(report),
        "profile": tables.profile(report),
    }
    drawn = {picture.section for picture, _ in pictures}
    typical, wrong = (explanations.explained(report, kind) for kind in ("typical", "wrong"))
    problems = list(report.examination.get("problems", []))
    present = {
        "failures": shown_tables["failures"] is not None,
        "comparison": shown_tables["comparisons"] is not None,
        "curves": bool(drawn & {"roc", "precision_recall", "calibration"}),
        "errors": shown_tables["confusion"] is not None,
        "model": bool(drawn & {"importance", "learning_curve"} or typical or wrong or problems),
        "profile": shown_tables["profile"] is not None,
    }
    return fill(
        "dataset.html",
        report=report,
        lead=lead(report),
        sections={anchor: title for anchor, title in SECTIONS.items() if present.get(anchor, True)},
        cards=cards(report),
        findings=findings.findings(report),
        tables={name: _html(table, f"table-{name}") for name, table in shown_tables.items()},
        intervals=any(entry.low is not None for entry in report.ranked),
        pictures=pictures,
        confusion_note=_confusion_note(report),
        typical=typical,
        wrong=wrong,
        rows_note=explanations.note(report),
        problems=problems,
        warnings=_warnings(report),
        commands=usage.commands(report),
        card_facts=model_card.facts(report),
        limits=model_card.limits(report),
        provenance=provenance,
    )


def render_entry(reports: Sequence[DatasetReport], provenance: Mapping[str, str]) -> str:
    """The page where a reader starts: the overview of several data sets, or the way to the page of the only one."""
    if len(reports) == 1:
        return fill("forward.html", page=file_name(reports[0].name), name=reports[0].name)
    return render_overview(reports, provenance)


def render_overview(reports: Sequence[DatasetReport], provenance: Mapping[str, str]) -> str:
    sections = {"datasets": "Data sets", "provenance": "Provenance"}
    table = renderers.html(overview_table(reports), "table-datasets")
    return fill("overview.html", reports=reports, sections=sections, table=table, provenance=provenance)


def overview_table(reports: Sequence[DatasetReport]) -> Table:
    """One row per data set, with a link to its page."""
    rows = []
    for report in reports:
        total, entry, record = sum(report.classes.values()), report.winning_entry, report.record or {}
        rows.append(
            [
                Cell(report.name, link=file_name(report.name)),
                Cell(f"{total:,}", total),
                Cell(str(len(report.classes)), len(report.classes)),
                Cell(labels.label(report.winner) if report.winner else "every model failed"),
                _score(report),
                Cell(f"{record['registered']} {record['version']}" if record.get("registered") else "not registered"),
                Cell("" if entry is None else _clearly_better(report)),
            ]
        )
    columns = [Column("Data set", "left"), Column("Rows"), Column("Classes"), Column("Winner", "left")]
    columns += [
        Column("Score", "left"),
        Column("Registered", "left"),
        Column("Clearly better than", "left", wraps=True),
    ]
    return Table(columns, rows)


def lead(report: DatasetReport) -> str:
    total = sum(report.classes.values())
    models = labels.count_of(len(report.leaderboard), "model")
    return (
        f"{total:,} rows from {report.origin}, target ‘{report.target}’ with {len(report.classes)} classes. {models}, "
        f"{report.split}, compared by {report.metric.title}. Every score is measured on rows that the model has not "
        "seen."
    )


def cards(report: DatasetReport) -> list[Card]:
    """The winner, the runner-up, the score without a model, and the rarest class."""
    metric, entry, chosen = report.metric, report.winning_entry, []
    if entry is not None:
        interval = (
            ""
            if entry.low is None or entry.high is None
            else f", {metric.text(entry.low)} to {metric.text(entry.high)}"
        )
        note = f"{metric.title}{interval}"
        chosen.append(Card(labels.label(entry.model), metric.text(entry.mean), metric.unit, note, "ldep"))
        others = [other for other in report.ranked if other.model != entry.model]
        if others:
            chosen.append(
                Card(labels.label(others[0].model), metric.text(others[0].mean), metric.unit, "best of the others")
            )
    without = findings.baseline(report)
    if without is not None:
        note = "always the most frequent class" if metric.name == "accuracy" else "guessing"
        chosen.append(Card("No model", metric.text(without), metric.unit, note))
    rarest = min(report.classes, key=lambda name: report.classes[name])
    share = report.classes[rarest] / sum(report.classes.values())
    chosen.append(Card(f"‘{rarest}’", f"{100 * share:.1f}", " %", "of the rows, the rarest class"))
    return chosen


def _score(report: DatasetReport) -> Cell:
    entry, metric = report.winning_entry, report.metric
    if entry is None:
        return Cell("")
    interval = (
        "" if entry.low is None or entry.high is None else f"{metric.text(entry.low)} to {metric.text(entry.high)}"
    )
    return Cell(f"{metric.title} {metric.text(entry.mean)}{metric.unit}", entry.mean, note=interval)


def _clearly_better(report: DatasetReport) -> str:
    better = [comparison for comparison in report.comparisons if comparison.verdict == "better"]
    return f"{len(better)} of {labels.count_of(len(report.comparisons), 'other model')}" if report.comparisons else ""


def _warnings(report: DatasetReport) -> list[str]:
    """What the profile warns about, without what its table says about single columns."""
    warnings = (report.profile or {}).get("warnings", [])
    return [warning for warning in warnings if not warning.startswith("column '")]


def _confusion_note(report: DatasetReport) -> str:
    text = "True classes in rows, predicted classes in columns, counted on unseen rows; the correct ones are bold."
    if not report.is_binary:
        return text
    if report.threshold:
        chosen = f"was chosen for {report.metric.title} on the same values"
        return f"{text} The threshold {report.threshold:.4g} of the decision value {chosen}{_effect(report)}."
    return f"{text} The threshold of the decision value is 0."


def _effect(report: DatasetReport) -> str:
    """What the choice of the threshold gained, if that is known."""
    record, metric = report.record or {}, report.metric
    chosen, default = record.get("metric_at_threshold"), record.get("metric_at_default")
    if chosen is None or default is None:
        return ""
    return f": {metric.text(chosen)}{metric.unit} instead of {metric.text(default)}{metric.unit} at 0"


def _html(table: Any, identifier: str) -> Any:
    return "" if table is None else renderers.html(table, identifier)
