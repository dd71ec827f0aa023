"""What the models were trained on, which fits failed, and which models were registered."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from ldep_pipeline.report import labels, page
from ldep_pipeline.report.comparison import BETTER
from ldep_pipeline.report.labels import model_cell
from ldep_pipeline.report.page import Block, section
from ldep_pipeline.report.renderers import Cell, Filled, Table, left, number, of_columns, right
from ldep_pipeline.report.report_data import DatasetInfo, DatasetReport, ReportData


@section("failures", "Failed fits", ReportData)
def failures_of_catalogue(data: ReportData) -> Iterator[Block | None]:
    of_dataset = left("Data set", lambda fit: Cell(labels.title(fit.dataset)))
    yield page.table(failures(data.results, of_dataset), "table-failures")


@section("failures", "Failed fits", DatasetReport)
def failures_of_dataset(report: DatasetReport) -> Iterator[Block | None]:
    yield page.table(failures(report.results), "table-failures")


@section("own", "Your own data", ReportData)
def own_data(data: ReportData) -> Iterator[Block | None]:
    if data.own:
        yield page.note("Not part of the tables and tests of this page; each data set has a page of its own.")
        yield page.table(overview(data.own), "table-own")


@section("registry", "Registered models", ReportData)
def registry(data: ReportData) -> Iterator[Block | None]:
    registered = registered_models(data)
    if registered is not None:
        yield page.table(registered, "table-registry")
        yield page.note("For each data set, the model with the best mean is fitted again on all rows and registered.")
    others = [labels.title(name) for name in data.scores.datasets if name not in data.decisions]
    if others:
        yield page.paragraph(f"Not registered yet: {', '.join(others)}. Run `ldep register` to register them.")


@section("data", "Data sets", ReportData)
def datasets(data: ReportData) -> Iterator[Block | None]:
    yield page.table(datasets_table(data), "table-data")


@section("profile", "Data", DatasetReport)
def profile(report: DatasetReport) -> Iterator[Block | None]:
    yield page.table(profile_table(report), "table-profile")
    # Without what the table says about single columns.
    warnings = (report.profile or {}).get("warnings", [])
    yield page.bullets([warning for warning in warnings if not warning.startswith("column '")], "limits")


def failures(results: pd.DataFrame, *first: Filled) -> Table | None:
    """One row per fit that failed, or whose model says the same about every row. first: columns before the model's."""
    fits = results.drop_duplicates(["dataset", "model", "fold"])
    return of_columns(
        fits[fits["status"] != "ok"].itertuples(),
        *first,
        left("Model", lambda fit: model_cell(fit.model)),
        right("Fold", lambda fit: number(fit.fold, 0)),
        left("Message", lambda fit: Cell(fit.message), wraps=True),
    )


def registered_models(data: ReportData) -> Table | None:
    """One row per data set whose best model went through the stage register."""

    def mean(decision: Mapping[str, Any]) -> Cell:
        metric = decision["metric"]
        return Cell(f"{decision['metrics'][metric]:.4f} {metric}", decision["metrics"][metric])

    def version(decision: Mapping[str, Any]) -> Cell:
        return Cell(f"{decision['registered']} {decision['version']}" if decision["registered"] else "")

    return of_columns(
        ({**data.decisions[name], "dataset": name} for name in data.accuracies.datasets if name in data.decisions),
        left("Data set", lambda decision: Cell(labels.title(decision["dataset"]))),
        left("Best model", lambda decision: model_cell(decision["model"])),
        right("Mean over folds", mean),
        left("Version", version),
        left("Decision", lambda one: Cell(one["decision"] if one["registered"] else "not registered")),
        left("Reason", lambda decision: Cell(decision["why"]), wraps=True),
        left("Settings", lambda one: Cell(json.dumps(one.get("settings", {})), style="code"), wraps=True),
    )


def datasets_table(data: ReportData) -> Table | None:
    """One row per data set: where it came from, its size, and its classes."""
    infos = data.datasets
    counts = {"Rows": "rows", "Features": "features", "Nominal": "nominal", "Missing cells": "missing"}

    def classes(name: str) -> Cell:
        return Cell(", ".join(f"{label}: {count}" for label, count in infos[name].classes.items()))

    return of_columns(
        data.accuracies.datasets,
        left("Data set", lambda name: Cell(labels.title(name))),
        left("Source", lambda name: Cell(infos[name].origin)),
        *(right(title, partial(_count, infos, field)) for title, field in counts.items()),
        left("Classes", classes),
        left("MD5 of the file", lambda name: Cell(infos[name].md5, style="code" if infos[name].md5 else "plain")),
    )


def _count(infos: Mapping[str, DatasetInfo], field: str, name: str) -> Cell:
    return number(getattr(infos[name], field), 0)


def profile_table(report: DatasetReport) -> Table | None:
    """One row per raw column: what it contains and what is done with it."""
    if not report.profile:
        return None
    total = report.profile["rows"]

    def treatment(column: Mapping[str, Any]) -> Cell:
        return Cell(f"left out: {column['drop']}" if column.get("drop") else column.get("treatment", ""))

    def missing(column: Mapping[str, Any]) -> Cell:
        return Cell(labels.percent(column["missing"] / total) if column["missing"] else "", column["missing"])

    return of_columns(
        report.profile["columns"],
        left("Column", lambda column: Cell(column["name"])),
        left("Kind", lambda column: Cell(column["kind"])),
        right("Missing", missing),
        right("Distinct values", lambda column: Cell(f"{column['distinct']:,}", column["distinct"])),
        left("First value", lambda column: Cell(column["example"])),
        left("What is done with it", treatment, wraps=True),
        left("Look at", lambda column: Cell("; ".join(column.get("remarks", ()))), wraps=True),
        with_empty=False,
    )


def overview(reports: Sequence[DatasetReport]) -> Table | None:
    """One row per data set, with a link to its page."""

    def score(report: DatasetReport) -> Cell:
        scores, metric = report.winning_scores, report.metric
        if scores is None:
            return Cell("")
        text = f"{metric.noun} {metric.text(scores.mean)}{metric.unit}"
        return Cell(text, scores.mean, note=report.interval_text(scores))

    def registered(report: DatasetReport) -> Cell:
        record = report.record or {}
        return Cell(f"{record['registered']} {record['version']}" if record.get("registered") else "not registered")

    def clearly_better(report: DatasetReport) -> Cell:
        better = sum(lead.verdict == BETTER for lead in report.comparisons)
        others = labels.count_of(len(report.comparisons), "other model")
        return Cell(f"{better} of {others}" if report.comparisons else "")

    return of_columns(
        reports,
        left("Data set", lambda report: Cell(report.name, link=report.file_name)),
        right("Rows", lambda report: Cell(f"{report.n_rows:,}", report.n_rows)),
        right("Classes", lambda report: Cell(str(len(report.classes)), len(report.classes))),
        left("Winner", lambda report: Cell(labels.label(report.winner) if report.winner else "every model failed")),
        left("Score", score),
        left("Registered", registered),
        left("Clearly better than", clearly_better, wraps=True),
    )
