"""The paper's Table 1 with our results, the paper's figures beside them, and whether they are reproduced.

By another metric than accuracy it is the same table without the paper's figures, which are accuracies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from ldep_pipeline.metrics.metric import signed_text
from ldep_pipeline.report import labels, page, paper, renderers
from ldep_pipeline.report.labels import PAPER_COLUMNS, REPRODUCED
from ldep_pipeline.report.page import Block, Page, section
from ldep_pipeline.report.renderers import (
    MISSING,
    Cell,
    Column,
    Table,
    left,
    missing,
    of_columns,
    right,
    signed,
    spread_text,
)
from ldep_pipeline.report.report_data import ReportData
from ldep_pipeline.report.scores import Scores

COMPARISON_CAPTION = "Our figures, the paper's, and the difference Δ of the means (ours minus the paper's)."
# The title of a summary row, and the columns of `over_datasets` that it shows.
SUMMARIES = {"MEAN ± STD": ("mean", "std"), "MEDIAN ± MAD": ("median", "mad")}


@dataclass(frozen=True)
class TableEntry:
    """One figure of ours, and the paper's beside it where there is one."""

    text: str
    value: float | None = None
    best: bool = False
    published: tuple[float, float] | None = None

    @property
    def difference(self) -> float:
        assert self.value is not None
        assert self.published is not None
        return self.value - self.published[0]

    def cell(self) -> Cell:
        if self.value is None:
            return missing(self.text)
        note = f"paper {spread_text(*self.published)}, {signed_text(self.difference)}" if self.published else ""
        return Cell(self.text, self.value, self.best, note)

    def three_cells(self) -> list[Cell]:
        """Our figure, the paper's, and the difference."""
        if self.published is None:
            return [Cell(self.text), Cell(), Cell()]
        return [Cell(self.text), Cell(spread_text(*self.published)), signed(self.difference)]


@dataclass(frozen=True)
class Table1:
    """One row per data set, two summary rows, and one column per model."""

    scores: Scores
    origins: Mapping[str, str]
    """Where each data set came from."""

    @cached_property
    def rows(self) -> dict[str, list[TableEntry]]:
        best = self.scores.best()
        return {
            name: [self._entry(name, model, bool(best.loc[name, model])) for model in self.scores.models]
            for name in self.scores.datasets
        }

    @cached_property
    def summary_rows(self) -> dict[str, list[TableEntry]]:
        summary = self.scores.over_datasets()
        return {
            title: [self._summary_entry(summary, model, middle, spread) for model in self.scores.models]
            for title, (middle, spread) in SUMMARIES.items()
        }

    def _entry(self, name: str, model: str, best: bool) -> TableEntry:
        scores = self.scores
        if scores.failed.loc[name, model]:
            return TableEntry("failed")
        mean = float(scores.mean.loc[name, model])
        if pd.isna(mean):
            return TableEntry(MISSING)
        text = scores.metric.shown(mean, float(scores.std.loc[name, model]))
        return TableEntry(text, mean, best, self._published(name, model))

    def _summary_entry(self, summary: pd.DataFrame, model: str, middle: str, spread: str) -> TableEntry:
        row, scores = summary.loc[model], self.scores
        count, value = int(row["datasets"]), float(row[middle])
        if not count:
            return TableEntry(MISSING)
        text = scores.metric.shown(value, float(row[spread]))
        if count < len(scores.datasets):  # not comparable with means over all data sets
            return TableEntry(f"{text} ({labels.count_of(count, 'data set')})", value)
        best = scores.metric.best_first(summary.loc[scores.complete, middle]).iloc[0]
        is_best = scores.metric.printed(value) == scores.metric.printed(best)
        return TableEntry(text, value, is_best, self._published_summary(model, middle))

    def _published(self, name: str, model: str) -> tuple[float, float] | None:
        return paper.figures(model, name) if self.scores.metric.is_accuracy else None

    def _published_summary(self, model: str, middle: str) -> tuple[float, float] | None:
        """The paper's figure over the same data sets, if it has the model and all of them."""
        printed = paper.means(self.scores.datasets)
        has_all = len(printed) == len(self.scores.datasets)
        if not has_all or not self.scores.metric.is_accuracy or model not in PAPER_COLUMNS:
            return None
        means = printed[PAPER_COLUMNS[model]]
        if middle == "mean":
            return means.mean(), means.std(ddof=0)
        return means.median(), (means - means.median()).abs().median()

    @property
    def caption(self) -> str:
        metric = self.scores.metric
        title = f"{metric.title} (= micro-averaged F1)" if metric.is_accuracy else metric.title
        if metric.is_time:
            return (
                f"{title} per fold: mean over the folds, the best of each row in bold. MEAN and MEDIAN are over the "
                "data sets."
            )
        unit = " in per cent" if metric.is_share else ""
        less = "" if metric.higher_is_better else " Less is better."
        return (
            f"{title}{unit}: mean ± sample deviation over the folds, the best of each row in bold.{less} MEAN ± STD is "
            "the mean over the data sets ± their population deviation. MEDIAN ± MAD is their median ± the median "
            "absolute deviation."
        )

    def main(self, with_origins: bool = True) -> Table:
        """Our figures; a note below each has the paper's."""
        columns = [Column("Data set", "left"), *(Column(labels.label(model)) for model in self.scores.models)]
        rows = [[Cell(labels.title(name)), *(one.cell() for one in entries)] for name, entries in self.rows.items()]
        summaries = [[Cell(title), *(one.cell() for one in entries)] for title, entries in self.summary_rows.items()]
        if with_origins:
            columns.append(Column("Data from", "left"))
            rows = [[*row, Cell(self.origins[name])] for name, row in zip(self.rows, rows)]
            summaries = [[*row, Cell()] for row in summaries]
        return Table(columns, rows, summaries)

    def comparison(self) -> Table | None:
        """Three columns per model that the paper has, too. None if there is nothing to compare."""
        places = [place for place, model in enumerate(self.scores.models) if model in PAPER_COLUMNS]
        columns = [Column("Data set", "left")]
        for place in places:
            columns += [Column(labels.label(self.scores.models[place])), Column("Paper"), Column("Δ")]

        def body(rows: Mapping[str, Sequence[TableEntry]]) -> list[list[Cell]]:
            compared = {title: [entries[place] for place in places] for title, entries in rows.items()}
            return [
                [Cell(title), *(cell for entry in entries for cell in entry.three_cells())]
                for title, entries in compared.items()
                if any(entry.published for entry in entries)
            ]

        rows = body({labels.title(name): entries for name, entries in self.rows.items()})
        return Table(columns, rows, body(self.summary_rows)) if rows else None

    @property
    def has_published(self) -> bool:
        return any(entry.published for entries in self.rows.values() for entry in entries)

    def markdown(self) -> str:
        parts = ["# Table 1", self.caption, renderers.markdown(self.main())]
        comparison = self.comparison()
        if comparison is not None:
            parts += ["## Comparison with the paper", COMPARISON_CAPTION, renderers.markdown(comparison)]
        return "\n\n".join(parts) + "\n"

    def latex(self) -> str:
        parts = [f"% {self.caption}", r"% Needs \usepackage{booktabs}.", renderers.latex(self.main(with_origins=False))]
        comparison = self.comparison()
        if comparison is not None:
            parts += [f"% {COMPARISON_CAPTION}", renderers.latex(comparison)]
        return "\n".join(parts) + "\n"

    def csv(self) -> str:
        """The same figures for machines: one row per data set and model, and one per summary and model."""
        names = ("dataset", "model", "mean", "std", "status", "paper_mean", "paper_std", "difference")
        scores, rows = self.scores, []
        for name in scores.datasets:
            for model in scores.models:
                mean, std = scores.mean.loc[name, model], scores.std.loc[name, model]
                status = "failed" if scores.failed.loc[name, model] else "missing" if pd.isna(mean) else "ok"
                printed = self._published(name, model)
                compared = [*printed, mean - printed[0]] if printed is not None else [None] * 3
                rows.append([Cell(name), Cell(model), _value(mean), _value(std), Cell(status), *map(_value, compared)])
        for model, row in scores.over_datasets().iterrows():
            count = int(row["datasets"])
            status = "ok" if count == len(scores.datasets) else labels.count_of(count, "data set")
            for title, columns in SUMMARIES.items():
                figures = [_value(row[column]) for column in columns]
                first = Cell(title.partition(" ")[0])
                rows.append([first, Cell(str(model)), *figures, Cell(status), Cell(), Cell(), Cell()])
        return renderers.csv(Table([Column(name) for name in names], rows), ".4f")

    def html(self) -> str:
        """A page with the table alone."""
        section = page.FilledSection("table", "Table 1", [self.block])
        return Page("Table 1", "Table 1", self.caption, [section]).html({}, {})

    @property
    def block(self) -> page.Text:
        return page.Text(renderers.html(self.main(), "table1-cells"))


@section("table", "Table 1", ReportData)
def table_1(data: ReportData) -> Iterator[Block | None]:
    table = of_data(data)
    yield page.note(table.caption)
    if table.has_published:
        yield page.switch("Show the paper's figures, and the difference (ours minus the paper's)")
    yield table.block


@section("reproduction", "Reproduction", ReportData)
def reproduction(data: ReportData) -> Iterator[Block | None]:
    targets = targets_table(data)
    if targets is None:
        return
    if not data.metric.is_accuracy:
        yield page.paragraph("All figures of this section are accuracies in per cent.")
    yield page.table(targets, "table-reproduction")
    yield page.note(
        "A higher mean is a fact about these data sets only. The statistical tests below say whether it generalises."
    )
    solvers = paper.solvers(data.results, REPRODUCED)
    if solvers:
        others = [labels.title(name) for name, solver in solvers.items() if solver != "ccp"]
        of_all = f"{len(solvers) - len(others)} of {labels.count_of(len(solvers), 'data set')}"
        text = f"{labels.label(REPRODUCED)} was trained by exact CCP on {of_all}."
        if others:
            text += f" The annealed solver was used on {', '.join(others)}, where exact CCP would have exceeded its "
            text += "time budget."
        yield page.paragraph(text)
    outliers = outliers_table(data)
    if outliers is not None:
        yield page.heading(
            "Data sets on which it differs from the paper's ℓ-DEP by more than 1.5 of the paper's deviations"
        )
        yield page.table(outliers, "table-outliers")


def targets_table(data: ReportData) -> Table | None:
    """One row per target of the reproduction."""
    badges = {
        None: Cell("30 data sets needed", style="neutral"),
        True: Cell("yes", style="good"),
        False: Cell("no", style="bad"),
    }
    return of_columns(
        paper.targets(data.accuracies),
        left("Target", lambda target: Cell(target.what)),
        right("Goal", lambda target: Cell(target.goal)),
        left("Measured", lambda target: Cell(target.measured), wraps=True),
        right("Reached", lambda target: badges[target.reached]),
    )


def outliers_table(data: ReportData) -> Table | None:
    """The data sets on which `ldep_paper` is far from the paper's ℓ-DEP."""

    def in_deviations(outlier: paper.Outlier) -> Cell:
        deviation = outlier.row.paper_std
        return signed(outlier.difference / deviation) if deviation else missing("deviation is 0")

    return of_columns(
        paper.outliers(data.accuracies, data.results),
        left("Data set", lambda outlier: Cell(labels.title(outlier.row.dataset))),
        right("Ours", lambda outlier: Cell(spread_text(outlier.row.mean, outlier.row.std), outlier.row.mean)),
        right(
            "Paper",
            lambda outlier: Cell(spread_text(outlier.row.paper_mean, outlier.row.paper_std), outlier.row.paper_mean),
        ),
        right("Difference", lambda outlier: signed(outlier.difference)),
        right("In the paper's deviations", in_deviations),
        left("Solver", lambda outlier: Cell(outlier.solver)),
    )


def of_data(data: ReportData) -> Table1:
    return Table1(data.scores, {name: info.origin for name, info in data.datasets.items()})


def _value(value: float | None) -> Cell:
    return Cell() if value is None or pd.isna(value) else Cell(value=float(value))
