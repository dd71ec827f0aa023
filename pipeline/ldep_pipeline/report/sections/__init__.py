"""The pages of the report, and the order of their sections. Each section knows for which kind of page it is."""

from __future__ import annotations

from collections.abc import Sequence

from ldep_pipeline.report import labels, page
from ldep_pipeline.report.page import FilledSection, Page
from ldep_pipeline.report.report_data import DatasetReport, ReportData
from ldep_pipeline.report.sections import data as about_data
from ldep_pipeline.report.sections import leaderboard, subsets, summary, table1, winner

SECTIONS = (
    summary.of_catalogue,
    summary.of_dataset,
    about_data.own_data,
    about_data.failures_of_catalogue,
    about_data.failures_of_dataset,
    table1.table_1,
    table1.reproduction,
    leaderboard.of_dataset,
    leaderboard.of_winner,
    leaderboard.tests,
    leaderboard.results,
    leaderboard.by_every_metric,
    leaderboard.training,
    winner.curves,
    winner.errors,
    subsets.prediction_sets,
    subsets.of_groups,
    winner.looks_at,
    about_data.registry,
    about_data.datasets,
    about_data.profile,
    winner.use,
    winner.limits_and_facts,
)


def catalogue_page(data: ReportData) -> Page:
    """The page about the data sets of the catalogue."""
    of_sets, of_models = (
        labels.count_of(len(data.datasets), "data set"),
        labels.count_of(len(data.scores.models), "model"),
    )
    by = "" if data.metric.is_accuracy else f" This page compares the models by {data.metric.noun}."
    lead = (
        f"{of_sets}, {of_models}, {_cross_validation(data)}. Every score is measured on rows that the model has not "
        f"seen, and tuning is nested in the training folds.{by}"
    )
    return Page("ℓ-DEP: experimental report", "How good is the ℓ-DEP?", lead, page.filled(SECTIONS, data))


def dataset_page(report: DatasetReport) -> Page:
    """The page about one data set of the user."""
    lead = (
        f"{report.n_rows:,} rows from {report.origin}, target ‘{report.target}’ with {len(report.classes)} classes. "
        f"{labels.count_of(len(report.leaderboard), 'model')}, {report.split}, compared by {report.metric.noun}. Every "
        "score is measured on rows that the model has not seen."
    )
    return Page(f"{report.name}: report", report.name, lead, page.filled(SECTIONS, report))


def entry_page(reports: Sequence[DatasetReport]) -> Page:
    """Where a reader of own data sets starts: the overview of several, or the way to the page of the only one."""
    if len(reports) == 1:
        target = reports[0].file_name
        return Page(f"{reports[0].name}: report", reports[0].name, forward=target)
    blocks = [
        page.table(about_data.overview(reports), "table-datasets"),
        page.note(
            "The interval is a 95 % interval of the mean over the folds. Scores of different data sets say nothing "
            "about each other."
        ),
    ]
    section = FilledSection("datasets", "Data sets", [block for block in blocks if block is not None])
    lead = "The best model of each data set, and a page with everything about it."
    return Page("Your data sets: report", labels.count_of(len(reports), "data set"), lead, [section])


def _cross_validation(data: ReportData) -> str:
    """How the data sets were split; `fold` counts the folds of all repeats."""
    kinds = set()
    for dataset, fold in data.results.groupby("dataset")["fold"]:
        repeats = data.datasets[str(dataset)].repeats
        repeated = f", {repeats} times" if repeats > 1 else ""
        kinds.add((fold.nunique() // repeats, f"{fold.nunique() // repeats}-fold cross-validation{repeated}"))
    return " or ".join(text for _, text in sorted(kinds))
