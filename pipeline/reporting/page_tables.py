"""The smaller tables of the page."""

from __future__ import annotations

import json

import pandas as pd

from pipeline.reporting import labels, targets
from pipeline.reporting.measures import Measure, Unit
from pipeline.reporting.report_data import ReportData
from pipeline.reporting.scores import Scores
from pipeline.reporting.significance import EQUAL, UNDECIDED
from pipeline.reporting.summary import p_text
from pipeline.reporting.table import MISSING, Cell, Column, Style, Table, missing, number, signed, spread_text


def models(data: ReportData) -> Table:
    """One row per model, the best mean first: its scores, rank and cost over all data sets."""
    scores, measure, ranks, of_repeats = data.scores, data.measure, data.ranks, data.means_of_repeats
    summary, wins = scores.over_datasets(), scores.best().sum()
    order = measure.best_first(summary["mean"]).index
    summary = summary.loc[order].sort_values("datasets", ascending=False, kind="stable")
    columns = [Column("Model", "left"), Column(f"Mean {measure.noun}")]
    if of_repeats is not None:
        columns.append(Column(f"Lowest to highest of {len(of_repeats)} repeats"))
    titles = ("Median", "Mean rank", "Best on", "CPU time, fits", "CPU time, tuning")
    rows = []
    for model, row in summary.iterrows():
        cells = [_model(str(model)), _mean_over_datasets(row, scores)]
        if of_repeats is not None:
            cells.append(_range(of_repeats[model], measure) if model in of_repeats else missing())
        cells += [
            missing("") if pd.isna(row["median"]) else Cell(measure.text(row["median"]), row["median"]),
            number(ranks.mean.get(model) if ranks is not None else None),
            number(wins[model] if row["datasets"] else None, 0),
            _duration(data.costs["fitting"][model]),
            _duration(data.costs["tuning"][model]),
        ]
        rows.append(cells)
    return Table([*columns, *map(Column, titles)], rows)


def failures(data: ReportData) -> Table | None:
    """One row per fit that failed."""
    failed = data.results[(data.results["status"] == "failed") & (data.results["metric"] == "accuracy")]
    rows = [
        [Cell(labels.title(fit.dataset)), _model(fit.model), number(fit.fold, 0), Cell(fit.message)]
        for fit in failed.itertuples()
    ]
    columns = [Column("Data set", "left"), Column("Model", "left"), Column("Fold")]
    columns.append(Column("Message", "left", wraps=True))
    return Table(columns, rows) if rows else None


def reproduction(data: ReportData) -> Table | None:
    """One row per target of the reproduction."""
    evaluated = targets.evaluate(data.accuracies)
    badges = {None: _badge("30 data sets needed", "neutral"), True: _badge("yes", "good"), False: _badge("no", "bad")}
    rows = [
        [Cell(target.what), Cell(target.goal), Cell(target.measured), badges[target.reached]] for target in evaluated
    ]
    columns = [Column("Target", "left"), Column("Goal"), Column("Measured", "left", wraps=True), Column("Reached")]
    return Table(columns, rows) if rows else None


def outliers(data: ReportData) -> Table | None:
    """The data sets on which `ldep_paper` is far from the paper's ℓ-DEP."""
    rows = []
    for outlier in targets.outliers(data.accuracies, data.results):
        row = outlier.comparison
        in_deviations = signed(outlier.difference / row.paper_std) if row.paper_std else missing("deviation is 0")
        rows.append(
            [
                Cell(labels.title(row.dataset)),
                Cell(spread_text(row.mean, row.std), row.mean),
                Cell(spread_text(row.paper_mean, row.paper_std), row.paper_mean),
                signed(outlier.difference),
                in_deviations,
                Cell(outlier.solver),
            ]
        )
    columns = [Column("Data set", "left"), Column("Ours"), Column("Paper"), Column("Difference")]
    columns += [Column("In the paper's deviations"), Column("Solver", "left")]
    return Table(columns, rows) if rows else None


def claims(data: ReportData) -> Table | None:
    """One row per tested claim about our models."""
    measure = data.measure
    styles: dict[str, Style] = {"better": "good", "worse": "bad", UNDECIDED: "neutral", EQUAL: "neutral"}
    rows = [
        [
            _model(claim.ours),
            Cell(claim.other),
            number(claim.datasets, 0),
            Cell(measure.gain_text(claim.difference), claim.difference),
            number(claim.wins, 0),
            number(claim.ties, 0),
            number(claim.losses, 0),
            Cell(p_text(claim.p), claim.p),
            Cell(p_text(claim.holm), claim.holm),
            *(
                number(100 * share, 0)
                for share in (claim.posterior.better, claim.posterior.equal, claim.posterior.worse)
            ),
            _badge(claim.verdict, styles[claim.verdict]),
        ]
        for claim in data.claims
    ]
    difference = "Times as fast" if measure.unit is Unit.SECONDS else "Mean difference"
    titles = ["Data sets", difference, "Wins", "Ties", "Losses", "p", "p, corrected"]
    titles += ["P(better), %", "P(equal), %", "P(worse), %", "Verdict"]
    columns = [Column("Model", "left"), Column("Compared with", "left"), *map(Column, titles)]
    return Table(columns, rows) if rows else None


def registered_models(data: ReportData) -> Table | None:
    """One row per data set whose best model went through the stage register."""
    rows = []
    for dataset in data.accuracies.datasets:
        decision = data.decisions.get(dataset)
        if decision is None:
            continue
        metric, registered = decision["metric"], decision["registered"]
        rows.append(
            [
                Cell(labels.title(dataset)),
                _model(decision["model"]),
                Cell(f"{decision['metrics'][metric]:.4f} {metric}", decision["metrics"][metric]),
                Cell(f"{registered} {decision['version']}" if registered else ""),
                Cell(decision["decision"] if registered else "not registered"),
                Cell(decision["why"]),
                Cell(json.dumps(decision.get("settings", {})), style="code"),
            ]
        )
    columns = [Column("Data set", "left"), Column("Best model", "left"), Column("Mean over folds")]
    columns += [Column("Version", "left"), Column("Decision", "left")]
    columns += [Column("Reason", "left", wraps=True), Column("Settings", "left", wraps=True)]
    return Table(columns, rows) if rows else None


def datasets(data: ReportData) -> Table:
    """One row per data set: where it came from, its size, and its classes."""
    rows = []
    for dataset in data.accuracies.datasets:
        info = data.datasets[dataset]
        counts = [number(count, 0) for count in (info.rows, info.features, info.nominal, info.missing)]
        classes = ", ".join(f"{label}: {count}" for label, count in info.classes.items())
        rows.append([Cell(labels.title(dataset)), Cell(info.origin), *counts, Cell(classes), _code(info.md5)])
    titles = ("Rows", "Features", "Nominal", "Missing cells")
    columns = [Column("Data set", "left"), Column("Source", "left"), *map(Column, titles)]
    return Table([*columns, Column("Classes", "left"), Column("MD5 of the file", "left")], rows)


def _model(model: str) -> Cell:
    return Cell(labels.label(model), family=labels.family(model))


def _mean_over_datasets(row: pd.Series, scores: Scores) -> Cell:
    count = int(row["datasets"])
    if not count:
        return missing("failed" if scores.failed[row.name].any() else MISSING)
    note = "" if count == len(scores.datasets) else f"on {labels.count_of(count, 'data set')}"
    return Cell(scores.measure.text(row["mean"], row["std"]), row["mean"], note=note)


def _range(values: pd.Series, measure: Measure) -> Cell:
    low, high = float(values.min()), float(values.max())
    return Cell(f"{measure.text(low)} to {measure.text(high)}", float(values.mean()))


def _duration(seconds: float) -> Cell:
    return Cell(labels.duration(seconds) if seconds else "", float(seconds))


def _badge(text: str, style: Style) -> Cell:
    return Cell(text, style=style)


def _code(text: str) -> Cell:
    return Cell(text, style="code" if text else "plain")
