"""How sure the winner of a data set is, class by class, and what it does to the groups of a column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ldep_pipeline.report import groups, labels, page
from ldep_pipeline.report.groups import Group, GroupedColumn, Interval
from ldep_pipeline.report.page import Block, section
from ldep_pipeline.report.renderers import Cell, Column, Table, missing
from ldep_pipeline.report.report_data import DatasetReport

SHOWN = 0.9  # the coverage whose sizes are shown
MOST_CLASSES = 20
MOST_NAMED = 8  # groups in a sentence


@section("sets", "How sure is it?", DatasetReport)
def prediction_sets(report: DatasetReport) -> Iterator[Block | None]:
    table = sets_table(report)
    if table is not None:
        yield page.note(
            "Sets of classes with a chosen coverage: the share of rows whose class is in their set. They are measured "
            "on unseen rows, with limits from the other folds. One class in the set: the model is sure. No class: even "
            "the likeliest class is less likely than for most rows. Sizes are those at "
            f'{labels.percent(SHOWN)}. Ask the served model with `"params": {{"output": "set"}}`.'
        )
        yield page.table(table, "table-sets")


@section("groups", "Groups", DatasetReport)
def of_groups(report: DatasetReport) -> Iterator[Block | None]:
    if not report.grouped:
        return
    yield page.note(
        "Measured on rows that the model had not seen, from the first repeat. Below each number its 95 % interval, by "
        "resampling the rows of the group. It does not count that another training would give another model. Groups "
        "whose intervals overlap may differ by chance; a difference between groups does not say why."
    )
    for column in report.grouped:
        if len(report.grouped) > 1:
            yield page.heading(f"By ‘{column.column}’")
        yield page.table(groups_table(report, column), f"table-groups-{list(report.grouped).index(column)}")
        if column.too_few:
            yield page.paragraph(too_few_text(column))
    if any(group.recourse for column in report.grouped for group in column.groups):
        yield page.note(
            "Distance: what has to change in a row until its class does, in standard deviations of numbers, where a "
            "change of category counts 1. The median over at most "
            f"{report.recourse_rows} test rows of one fold. Dates and texts do not change."
        )


def sets_table(report: DatasetReport) -> Table | None:
    """One row per class: coverage, and the sizes of the sets."""
    found = report.sets.get(str(report.winner))
    if not found or len(report.classes) > MOST_CLASSES:
        return None
    y, names = report.y[report.tested], list(report.classes)
    own = np.searchsorted(names, y)
    sizes = found[SHOWN][report.tested].sum(axis=1)
    right = {coverage: contains[report.tested][np.arange(len(y)), own] for coverage, contains in found.items()}

    def row(title: str, inside: np.ndarray) -> list[Cell]:
        count = int(inside.sum())
        if not count:
            return [Cell(title), Cell("0", 0), *[missing()] * (len(found) + 3)]
        covered = [_share(right[coverage][inside]) for coverage in found]
        shares = [float((sizes[inside] == 1).mean()), float((sizes[inside] == 0).mean())]
        mean = float(sizes[inside].mean())
        return [
            Cell(title),
            Cell(f"{count:,}", count),
            *covered,
            Cell(f"{mean:.2f}", mean),
            *(Cell(labels.percent(share), share) for share in shares),
        ]

    columns = [
        Column("", "left"),
        Column("rows"),
        *(Column(f"covered at {labels.percent(coverage)}") for coverage in found),
        Column("mean size"),
        Column("one class"),
        Column("no class"),
    ]
    rows = [row(f"is {name}", y == name) for name in names]
    return Table(columns, rows, [row("all", np.ones(len(y), dtype=bool))])


def _share(right: np.ndarray) -> Cell:
    share = float(right.mean())
    return Cell(labels.percent(share), share, note=_range(groups.wilson(int(right.sum()), len(right))))


def _range(interval: Interval) -> str:
    return f"{100 * interval[0]:.0f} to {100 * interval[1]:.0f} %"


def groups_table(report: DatasetReport, column: GroupedColumn) -> Table | None:
    """One row per group that has enough rows."""
    if not column.groups:
        return None
    metric, positive = report.metric, report.positive
    columns = [Column(column.column, "left"), Column("rows"), Column(metric.title)]
    if positive is not None:
        columns += [Column(f"is {positive}"), Column(f"predicted {positive}")]
    changes = [label for label in report.classes if any(label in group.recourse for group in column.groups)]
    columns += [Column(f"distance from {label}") for label in changes]

    def row(group: Group) -> list[Cell]:
        value = missing()
        if group.value is not None:
            note = "" if group.interval is None else " to ".join(map(metric.text, group.interval))
            value = Cell(f"{metric.text(group.value)}{metric.unit}", group.value, note=note)
        cells = [Cell(group.name), Cell(f"{group.rows:,}", group.rows), value]
        if group.base is not None and group.selected is not None and group.selected_interval is not None:
            cells += [
                Cell(labels.percent(group.base), group.base),
                Cell(labels.percent(group.selected), group.selected, note=_range(group.selected_interval)),
            ]
        for label in changes:
            found = group.recourse.get(label)
            if found is None or not np.isfinite(found.median):
                cells.append(missing())
                continue
            note = f"{found.rows} rows"
            if found.interval is not None:
                note = f"{found.interval[0]:.2f} to {found.interval[1]:.2f}, {note}"
            cells.append(Cell(f"{found.median:.2f}", found.median, note=note))
        return cells

    return Table(columns, [row(group) for group in column.groups])


def too_few_text(column: GroupedColumn) -> str:
    """Which groups have no numbers, and why."""
    shown = [f"‘{name}’ ({labels.count_of(rows, 'row')})" for name, rows in column.too_few.items()]
    more = f" and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    others = f", or groups beyond the first {groups.MOST_GROUPS}" if len(column.groups) == groups.MOST_GROUPS else ""
    return (
        f"Without numbers, because those of fewer than {groups.FEWEST} rows would mislead{others}: "
        f"{', '.join(shown[:MOST_NAMED])}{more}."
    )
