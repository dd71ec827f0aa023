"""The paper's Table 1 with our results, and a second table that sets the paper's figures beside ours.

By another measure than accuracy it is the same table without the paper's figures, which are accuracies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from pipeline.reporting import labels, paper, renderers
from pipeline.reporting.measures import Unit
from pipeline.reporting.scores import Scores
from pipeline.reporting.table import MISSING, Cell, Column, Table, missing, signed, signed_text, spread_text

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

    scores: Scores
    origins: Mapping[str, str]
    """Where each data set came from."""
    rows: dict[str, list[Entry]]
    summary_rows: dict[str, list[Entry]]

    @property
    def caption(self) -> str:
        measure = self.scores.measure
        title = f"{measure.title} (= micro-averaged F1)" if measure.is_accuracy else measure.title
        if measure.unit is Unit.SECONDS:
            return (
                f"{title} per fold: mean over the folds, the best of each row in bold. MEAN and MEDIAN are over the "
                "data sets."
            )
        unit = " in per cent" if measure.unit is Unit.PERCENT else ""
        less = "" if measure.higher_is_better else " Less is better."
        return (
            f"{title}{unit}: mean ± sample deviation over the folds, the best of each row in bold.{less} MEAN ± STD is "
            "the mean over the data sets ± their population deviation. MEDIAN ± MAD is their median ± the median "
            "absolute deviation."
        )

    def main(self, with_origins: bool = True) -> Table:
        """Our figures; a note below each has the paper's."""
        columns = [Column("Data set", "left"), *(Column(labels.label(model)) for model in self.scores.models)]
        rows = [[Cell(labels.title(name)), *_cells(entries)] for name, entries in self.rows.items()]
        summaries = [[Cell(title), *_cells(entries)] for title, entries in self.summary_rows.items()]
        if with_origins:
            columns.append(Column("Data from", "left"))
            rows = [[*row, Cell(self.origins[name])] for name, row in zip(self.rows, rows)]
            summaries = [[*row, Cell()] for row in summaries]
        return Table(columns, rows, summaries)

    def comparison(self) -> Table | None:
        """Three columns per model that the paper has, too. None if there is nothing to compare."""
        places = [place for place, model in enumerate(self.scores.models) if model in labels.PAPER_COLUMNS]
        columns = [Column("Data set", "left")]
        for place in places:
            columns += [Column(labels.label(self.scores.models[place])), Column("Paper"), Column("Δ")]

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
        return renderers.csv(long_table(self.scores), ".4f")


def build(scores: Scores, origins: Mapping[str, str]) -> Table1:
    best, summary = scores.best(), scores.over_datasets()
    rows = {
        name: [_entry(scores, name, model, bool(best.loc[name, model])) for model in scores.models]
        for name in scores.datasets
    }
    summary_rows = {
        title: [_summary_entry(scores, summary, model, middle, spread) for model in scores.models]
        for title, (middle, spread) in SUMMARIES.items()
    }
    return Table1(scores, origins, rows, summary_rows)


def long_table(scores: Scores) -> Table:
    """The same figures for machines: one row per data set and model, and one per summary and model."""
    names = ("dataset", "model", "mean", "std", "status", "paper_mean", "paper_std", "difference")
    rows = []
    for name in scores.datasets:
        for model in scores.models:
            mean, std = scores.mean.loc[name, model], scores.std.loc[name, model]
            paper_mean, paper_std = _published(scores, model, name) or (None, None)
            difference = mean - paper_mean if paper_mean is not None else None
            texts = [Cell(name), Cell(model), _value(mean), _value(std), Cell(_status(scores, name, model))]
            rows.append([*texts, _value(paper_mean), _value(paper_std), _value(difference)])
    for model, row in scores.over_datasets().iterrows():
        count = int(row["datasets"])
        status = "ok" if count == len(scores.datasets) else labels.count_of(count, "data set")
        for title, (middle, spread) in (("MEAN", ("mean", "std")), ("MEDIAN", ("median", "mad"))):
            figures = [_value(row[middle]), _value(row[spread])]
            rows.append([Cell(title), Cell(str(model)), *figures, Cell(status), Cell(), Cell(), Cell()])
    return Table([Column(name) for name in names], rows)


def _entry(scores: Scores, name: str, model: str, best: bool) -> Entry:
    if scores.failed.loc[name, model]:
        return Entry("failed")
    mean = float(scores.mean.loc[name, model])
    if pd.isna(mean):
        return Entry(MISSING)
    text = scores.measure.text(mean, float(scores.std.loc[name, model]))
    return Entry(text, mean, best, _published(scores, model, name))


def _summary_entry(scores: Scores, summary: pd.DataFrame, model: str, middle: str, spread: str) -> Entry:
    row = summary.loc[model]
    count, value = int(row["datasets"]), float(row[middle])
    if not count:
        return Entry(MISSING)
    text = scores.measure.text(value, float(row[spread]))
    if count < len(scores.datasets):  # not comparable with means over all data sets
        return Entry(f"{text} ({labels.count_of(count, 'data set')})", value)
    best = scores.measure.best_first(summary.loc[scores.complete, middle]).iloc[0]
    is_best = scores.measure.printed(value) == scores.measure.printed(best)
    return Entry(text, value, is_best, _published_summary(scores, model, middle))


def _published(scores: Scores, model: str, name: str) -> tuple[float, float] | None:
    return paper.figures(model, name) if scores.measure.is_accuracy else None


def _published_summary(scores: Scores, model: str, middle: str) -> tuple[float, float] | None:
    """The paper's figure over the same data sets, if it has the model and all of them."""
    printed = paper.means(scores.datasets)
    if not scores.measure.is_accuracy or model not in labels.PAPER_COLUMNS:
        return None
    if len(printed) < len(scores.datasets):
        return None
    means = printed[labels.PAPER_COLUMNS[model]]
    if middle == "mean":
        return means.mean(), means.std(ddof=0)
    return means.median(), (means - means.median()).abs().median()


def _status(scores: Scores, name: str, model: str) -> str:
    if scores.failed.loc[name, model]:
        return "failed"
    return "missing" if pd.isna(scores.mean.loc[name, model]) else "ok"


def _cells(entries: Sequence[Entry]) -> list[Cell]:
    return [entry.cell() for entry in entries]


def _value(value: float | None) -> Cell:
    return Cell() if value is None or pd.isna(value) else Cell(value=float(value))
