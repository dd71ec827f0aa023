"""The page of the report: text, tables, figures, style and script in one file that needs no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.reporting import labels, leaderboard, page_tables, paper, renderers, summary, targets
from pipeline.reporting.figure import Picture
from pipeline.reporting.own.dataset_report import DatasetReport
from pipeline.reporting.own.page import overview_table
from pipeline.reporting.report_data import ReportData
from pipeline.reporting.table1 import Table1
from pipeline.reporting.templates import fill

# Anchor and title. A section without content is left out, with its link.
SECTIONS = {
    "summary": "Summary",
    "own": "Your own data",
    "failures": "Failed fits",
    "table": "Table 1",
    "reproduction": "Reproduction",
    "tests": "Statistical tests",
    "results": "Scores and time",
    "metrics": "All metrics",
    "training": "Tuning and training",
    "registry": "Registered models",
    "data": "Data sets",
    "provenance": "Provenance",
}


@dataclass(frozen=True)
class Card:
    """One of the few numbers that most readers come for."""

    name: str
    value: str
    note: str
    family: str = ""


@dataclass(frozen=True)
class Panel:
    """The comparison of the models by another measure. The pictures with its name as their section belong to it."""

    data: ReportData
    table: Any
    claims: Any

    @property
    def name(self) -> str:
        return self.data.metric

    @property
    def first_three(self) -> str:
        return summary.first_three(self.data.scores)


def render(
    data: ReportData,
    table1: Table1,
    pictures: Sequence[tuple[Picture, str]],
    provenance: Mapping[str, str],
    own: Sequence[DatasetReport] = (),
) -> str:
    """pictures: each with its SVG. provenance: what the report was made with, {term: text}.

    own: the own data sets, which have pages of their own.
    """
    tables = {
        "models": page_tables.models(data),
        "forms": leaderboard.forms(data),
        "metrics": leaderboard.metrics(data),
        "failures": page_tables.failures(data),
        "reproduction": page_tables.reproduction(data),
        "outliers": page_tables.outliers(data),
        "claims": page_tables.claims(data),
        "registry": page_tables.registered_models(data),
        "data": page_tables.datasets(data),
        "own": overview_table(own) if own else None,
    }
    scores = data.scores
    families = {labels.family(model) for model in scores.models}
    shown = {picture.section for picture, _ in pictures}
    absent = {name for name in ("failures", "own", "reproduction") if tables[name] is None}
    absent |= {section for section in ("results", "training") if section not in shown}
    return fill(
        "page.html",
        data=data,
        scores=scores,
        cross_validation=_cross_validation(data),
        sections={anchor: title for anchor, title in SECTIONS.items() if anchor not in absent},
        cards=cards(data),
        findings=summary.findings(data),
        limits=summary.limits(data),
        panels=[_panel(data.by(metric)) for metric in data.other_metrics],
        tables={f"{name}": _html(table, f"table-{name}") for name, table in tables.items()},
        table1=table1,
        table1_html=_html(table1.main(), "table1-cells"),
        solvers=_solvers(data),
        pictures=pictures,
        families=[(name, text) for name, text in labels.FAMILY_LABELS.items() if name in families],
        unregistered=[labels.title(name) for name in scores.datasets if name not in data.decisions],
        provenance=provenance,
    )


def render_table1(table1: Table1) -> str:
    """A page with Table 1 alone."""
    return fill("table1.html", caption=table1.caption, table1_html=_html(table1.main(), "table1-cells"))


def cards(data: ReportData) -> list[Card]:
    """Our models, the best of the others and, by accuracy, the paper's ℓ-DEP and best model."""
    measure, means = data.measure, data.scores.best_first()

    def card(model: str, note: str) -> Card:
        return Card(labels.label(model), measure.text(means[model]), note, labels.family(model))

    chosen = [card(model, f"mean {measure.noun}") for model in labels.OURS if model in means]
    others = [str(model) for model in means.index if labels.family(str(model)) != "ldep"]
    if others:
        chosen.append(card(others[0], "best of the other models"))
    printed = paper.means(data.scores.datasets)
    if measure.is_accuracy and len(printed) and len(printed) == len(data.scores.datasets):
        chosen.append(Card("ℓ-DEP", measure.text(printed["ldep"].mean()), "in the paper"))
        best = str(printed.mean().idxmax())
        if best != "ldep":
            chosen.append(Card(labels.label(best), measure.text(printed[best].mean()), "best model in the paper"))
    return chosen


def _panel(data: ReportData) -> Panel:
    table, claims = page_tables.models(data), page_tables.claims(data)
    return Panel(data, _html(table, f"table-models-{data.metric}"), _html(claims, f"table-claims-{data.metric}"))


def _solvers(data: ReportData) -> dict[str, Any] | None:
    """On how many data sets `ldep_paper` was trained by exact CCP, and on which it was not."""
    solvers = targets.solvers(data.results, "ldep_paper")
    if not solvers:
        return None
    others = [labels.title(name) for name, solver in solvers.items() if solver != "ccp"]
    return {"count": len(solvers), "exact": len(solvers) - len(others), "others": others}


def _cross_validation(data: ReportData) -> str:
    """How the data sets were split; `fold` counts the folds of all repeats."""
    kinds = set()
    for dataset, fold in data.results.groupby("dataset")["fold"]:
        repeats = data.datasets[str(dataset)].repeats
        repeated = f", {repeats} times" if repeats > 1 else ""
        kinds.add((fold.nunique() // repeats, f"{fold.nunique() // repeats}-fold cross-validation{repeated}"))
    return " or ".join(text for _, text in sorted(kinds))


def _html(table: Any, identifier: str) -> Any:
    return "" if table is None else renderers.html(table, identifier)
