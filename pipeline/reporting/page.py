"""The page of the report: text, tables, figures, style and script in one file that needs no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.reporting import labels, leaderboard, page_tables, renderers, summary, targets
from pipeline.reporting.accuracies import published_means
from pipeline.reporting.figure import Picture
from pipeline.reporting.own.dataset_report import DatasetReport
from pipeline.reporting.own.page import overview_table
from pipeline.reporting.report_data import ReportData
from pipeline.reporting.table1 import CAPTION, Table1
from pipeline.reporting.templates import fill

# Anchor and title. A section without content is left out, with its link.
SECTIONS = {
    "summary": "Summary",
    "own": "Your own data",
    "failures": "Failed fits",
    "table": "Table 1",
    "reproduction": "Reproduction",
    "tests": "Statistical tests",
    "results": "Accuracy and time",
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
    value: float
    note: str
    family: str = ""


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
    accuracies = data.accuracies
    families = {labels.family(model) for model in accuracies.models}
    shown = {picture.section for picture, _ in pictures}
    absent = {name for name in ("failures", "own", "reproduction") if tables[name] is None}
    absent |= {section for section in ("results", "training") if section not in shown}
    return fill(
        "page.html",
        accuracies=accuracies,
        cross_validation=_cross_validation(data),
        sections={anchor: title for anchor, title in SECTIONS.items() if anchor not in absent},
        cards=cards(data),
        findings=summary.findings(accuracies, data.claims, data.ranks),
        limits=summary.limits(accuracies, data.claims),
        tables={f"{name}": _html(table, f"table-{name}") for name, table in tables.items()},
        table1=table1,
        table1_html=_html(table1.main(), "table1-cells"),
        caption=CAPTION,
        solvers=_solvers(data),
        ranks=data.ranks,
        pictures=pictures,
        families=[(name, text) for name, text in labels.FAMILY_LABELS.items() if name in families],
        unregistered=[labels.title(name) for name in accuracies.datasets if name not in data.decisions],
        provenance=provenance,
    )


def render_table1(table1: Table1) -> str:
    """A page with Table 1 alone."""
    return fill("table1.html", caption=CAPTION, table1_html=_html(table1.main(), "table1-cells"))


def cards(data: ReportData) -> list[Card]:
    """Our models, the best of the others, and the paper's ℓ-DEP and best model."""
    accuracies = data.accuracies
    mean, printed = accuracies.over_datasets()["mean"], published_means(accuracies.datasets)
    chosen = [
        Card(labels.label(model), mean[model], "mean accuracy", labels.family(model))
        for model in labels.OURS
        if model in accuracies.complete
    ]
    others = [model for model in accuracies.complete if labels.family(model) != "ldep"]
    if others:
        best = str(mean[others].idxmax())
        chosen.append(Card(labels.label(best), mean[best], "best of the other models", labels.family(best)))
    if len(printed) and len(printed) == len(accuracies.datasets):
        chosen.append(Card("ℓ-DEP", printed["ldep"].mean(), "in the paper"))
        best = str(printed.mean().idxmax())
        if best != "ldep":
            chosen.append(Card(labels.label(best), printed[best].mean(), "best model in the paper"))
    return chosen


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
