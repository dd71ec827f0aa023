"""`ldep inspect`: a look at a file of rows before it becomes a data set."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pipeline.common.errors import UserError
from pipeline.common.files import write_json
from pipeline.data.profile import Profile, profile
from pipeline.data.tables import Layout, open_table, read_frame
from pipeline.data.tables.guess import guess_layout
from pipeline.encoding.choice import ColumnError
from pipeline.reporting import renderers
from pipeline.reporting.table import Cell, Column, Table

COLUMNS = (
    Column("column", "left"),
    Column("kind", "left"),
    Column("missing"),
    Column("distinct"),
    Column("first value", "left"),
    Column("what happens to it", "left"),
)
MOST_CLASSES = 12


def run(path: Path, target: str | None, layout: Layout | None = None, out: Path | None = None) -> Profile:
    """Print the profile of a file, and write it as JSON if `out` is given. Without a target it is the last column."""
    layout = layout or guess_layout(path)
    columns = open_table(path, layout, known=[] if target is None else [target]).columns
    chosen = columns[-1] if target is None else target
    frame = read_frame(path, chosen, layout=layout)
    if frame.empty:
        raise UserError(f"{path}: there are no rows.")
    found = profile_of(path, frame.dropna(subset=[chosen]))
    unlabelled = int(frame[chosen].isna().sum())
    note = " (the last column; --target names another)" if target is None else ""
    print(f"{path}: {len(frame)} rows, {frame.shape[1] - 1} features; {_in_words(layout, path)}")
    print(f"target: '{chosen}'{note}: {_classes(found)}\n")
    print(text_table(found))
    warnings = found.warnings()
    if unlabelled:
        warnings.insert(0, f"the target is missing in {unlabelled} rows: they cannot be trained on.")
    for warning in warnings:
        print(f"- {warning}")
    if out is not None:
        write_json(out, found.to_json())
    return found


def profile_of(path: Path, frame: pd.DataFrame) -> Profile:
    """Return the profile of a frame; UserError names a column that cannot be encoded."""
    try:
        return profile(frame)
    except ColumnError as error:
        raise UserError(f"{path}: {error}.") from None


def text_table(found: Profile) -> str:
    """Return one line per column."""
    rows = [
        (
            column.name,
            column.kind,
            f"{column.gaps / found.rows:.0%}" if column.gaps else "",
            str(column.distinct),
            column.example,
            column.treatment,
        )
        for column in found.columns
    ]
    return renderers.text(Table(COLUMNS, [[Cell(text) for text in row] for row in rows]))


def _classes(found: Profile) -> str:
    shown = [f"{label} {count} ({count / found.rows:.1%})" for label, count in found.classes.items()]
    rest = f", and {len(shown) - MOST_CLASSES} more" if len(shown) > MOST_CLASSES else ""
    return ", ".join(shown[:MOST_CLASSES]) + rest


def _in_words(layout: Layout, path: Path) -> str:
    if path.suffix.lower() != ".csv":
        return f"a {path.suffix} file"
    delimiter = "a tab" if layout.delimiter == "\t" else f"'{layout.delimiter}'"
    return f"cells separated by {delimiter}, decimal sign '{layout.decimal}', {layout.encoding}"
