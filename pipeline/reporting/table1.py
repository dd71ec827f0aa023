"""The paper's Table 1 with our results, and a second table that sets the paper's figures beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from pipeline.reporting import labels, renderers
from pipeline.reporting.accuracies import Accuracies, published, published_means
from pipeline.reporting.table import MISSING, Cell, Column, Table, missing, signed, signed_text, spread_text

CAPTION = (
    "Accuracy (= micro-averaged F1) in per cent: mean ± sample deviation over the folds, the best of each row in bold. "
    "MEAN ± STD is the mean over the data sets ± their population deviation. MEDIAN ± MAD is their median ± the median "
    "absolute deviation."
)
COMPARISON_CAPTION = "Our figures, the paper's, and the difference Δ of the means (ours minus the paper's)."
# The title of a summary row, and the columns of `over_datasets` that it shows.
SUMMARIES = {"MEAN ± STD": ("mean", "std"), "MEDIAN ± MAD": ("median", "mad")}


@dataclass(frozen=True)
class Entry:
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
    """All entries: one row per data set, two summary rows, and one column per model."""

    accuracies: Accuracies
    origins: Mapping[str, str]
    """Where each data set came from."""
    rows: dict[str, list[Entry]]
    summary_rows: dict[str, list[Entry]]

    def main(self, with_origins: bool = True) -> Table:
        """Our figures; a note below each has the paper's."""
        columns = [Column("Data set", "left"), *(Column(labels.label(model)) for model in self.accuracies.models)]
        rows = [[Cell(labels.title(name)), *_cells(entries)] for name, entries in self.rows.items()]
        summaries = [[Cell(title), *_cells(entries)] for title, entries in self.summary_rows.items()]
        if with_origins:
            columns.append(Column("Data from", "left"))
            rows = [[*row, Cell(self.origins[name])] for name, row in zip(self.rows, rows)]
            summaries = [[*row, Cell()] for row in summaries]
        return Table(columns, rows, summaries)

    def comparison(self) -> Table | None:
        """Three columns per model that the paper has, too. None if there is nothing to compare."""
        places = [place for place, model in enumerate(self.accuracies.models) if model in labels.PAPER_COLUMNS]
        columns = [Column("Data set", "left")]
        for place in places:
            columns += [Column(labels.label(self.accuracies.models[place])), Column("Paper"), Column("Δ")]

        def body(rows: Mapping[str, Sequence[Entry]]) -> list[list[Cell]]:
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
        parts = ["# Table 1", CAPTION, renderers.markdown(self.main())]
        comparison = self.comparison()
        if comparison is not None:
            parts += ["## Comparison with the paper", COMPARISON_CAPTION, renderers.markdown(comparison)]
        return "\n\n".join(parts) + "\n"

    def latex(self) -> str:
        parts = [f"% {CAPTION}", r"% Needs \usepackage{booktabs}.", renderers.latex(self.main(with_origins=False))]
        comparison = self.comparison()
        if comparison is not None:
            parts += [f"% {COMPARISON_CAPTION}", renderers.latex(comparison)]
        return "\n".join(parts) + "\n"

    def csv(self) -> str:
        return renderers.csv(long_table(self.accuracies), ".4f")


def build(accuracies: Accuracies, origins: Mapping[str, str]) -> Table1:
    best, summary = accuracies.best(), accuracies.over_datasets()
    rows = {
        name: [_entry(accuracies, name, model, bool(best.loc[name, model])) for model in accuracies.models]
        for name in accuracies.datasets
    }
    summary_rows = {
        title: [_summary_entry(accuracies, summary, model, middle, spread) for model in accuracies.models]
        for title, (middle, spread) in SUMMARIES.items()
    }
    return Table1(accuracies, origins, rows, summary_rows)


def long_table(accuracies: Accuracies) -> Table:
    """The same figures for machines: one row per data set and model, and one per summary and model."""
    names = ("dataset", "model", "mean", "std", "status", "paper_mean", "paper_std", "difference")
    rows = []
    for name in accuracies.datasets:
        for model in accuracies.models:
            mean, std = accuracies.mean.loc[name, model], accuracies.std.loc[name, model]
            paper_mean, paper_std = published(model, name) or (None, None)
            difference = mean - paper_mean if paper_mean is not None else None
            texts = [Cell(name), Cell(model), _value(mean), _value(std), Cell(_status(accuracies, name, model))]
            rows.append([*texts, _value(paper_mean), _value(paper_std), _value(difference)])
    for model, row in accuracies.over_datasets().iterrows():
        count = int(row["datasets"])
        status = "ok" if count == len(accuracies.datasets) else labels.count_of(count, "data set")
        for title, (middle, spread) in (("MEAN", ("mean", "std")), ("MEDIAN", ("median", "mad"))):
            figures = [_value(row[middle]), _value(row[spread])]
            rows.append([Cell(title), Cell(str(model)), *figures, Cell(status), Cell(), Cell(), Cell()])
    return Table([Column(name) for name in names], rows)


def _entry(accuracies: Accuracies, name: str, model: str, best: bool) -> Entry:
    if accuracies.failed.loc[name, model]:
        return Entry("failed")
    mean = float(accuracies.mean.loc[name, model])
    if pd.isna(mean):
        return Entry(MISSING)
    return Entry(spread_text(mean, accuracies.std.loc[name, model]), mean, best, published(model, name))


def _summary_entry(accuracies: Accuracies, summary: pd.DataFrame, model: str, middle: str, spread: str) -> Entry:
    row = summary.loc[model]
    count, value = int(row["datasets"]), float(row[middle])
    if not count:
        return Entry(MISSING)
    text = spread_text(value, row[spread])
    if count < len(accuracies.datasets):  # not comparable with means over all data sets
        return Entry(f"{text} ({labels.count_of(count, 'data set')})", value)
    best = bool(round(value, 1) == summary[middle].round(1).max())
    return Entry(text, value, best, _published_summary(accuracies, model, middle))


def _published_summary(accuracies: Accuracies, model: str, middle: str) -> tuple[float, float] | None:
    """The paper's figure over the same data sets, if it has the model and all of them."""
    printed = published_means(accuracies.datasets)
    if model not in labels.PAPER_COLUMNS or len(printed) < len(accuracies.datasets):
        return None
    means = printed[labels.PAPER_COLUMNS[model]]
    if middle == "mean":
        return means.mean(), means.std(ddof=0)
    return means.median(), (means - means.median()).abs().median()


def _status(accuracies: Accuracies, name: str, model: str) -> str:
    if accuracies.failed.loc[name, model]:
        return "failed"
    return "missing" if pd.isna(accuracies.mean.loc[name, model]) else "ok"


def _cells(entries: Sequence[Entry]) -> list[Cell]:
    return [entry.cell() for entry in entries]


def _value(value: float | None) -> Cell:
    return Cell() if value is None or pd.isna(value) else Cell(value=float(value))
