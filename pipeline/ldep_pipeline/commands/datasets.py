"""`ldep datasets` lists the data sets; `ldep inspect` looks at a file of rows before it becomes one."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from ldep.table import ColumnError
from ldep_pipeline.commands import CommandLine, add_layout, add_params
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.common.files import write_json
from ldep_pipeline.config import params, paths
from ldep_pipeline.config.params import OwnData
from ldep_pipeline.data import catalogue
from ldep_pipeline.data.catalogue import CatalogueEntry
from ldep_pipeline.data.frames import read_frame
from ldep_pipeline.data.own_file import suggest
from ldep_pipeline.data.profile import Profile, profile
from ldep_pipeline.data.sources import registered
from ldep_pipeline.data.stage_files import UNKNOWN, Provenance
from ldep_pipeline.data.tables import Layout, open_table
from ldep_pipeline.data.tables.csv_table import guess_layout
from ldep_pipeline.report import renderers
from ldep_pipeline.report.renderers import Cell, Column, Table

LISTED = (
    Column("name", "left"),
    Column("in the paper", "left"),
    Column("OpenML"),
    Column("rows"),
    Column("features"),
    Column("missing"),
    Column("majority"),
    Column("available from", "left"),
)
PROFILED = (
    Column("column", "left"),
    Column("kind", "left"),
    Column("missing"),
    Column("distinct"),
    Column("first value", "left"),
    Column("what happens to it", "left"),
)
MOST_CLASSES = 12


def add_datasets(parser: ArgumentParser) -> None:
    parser.add_argument("--names", action="store_true", help="print the names only, separated by commas")
    add_params(parser)


def datasets(args: Namespace) -> None:
    if args.names:
        print(",".join(catalogue.load()))
        return
    print(table(params.load(args.params).own_data if args.params.is_file() else {}))


def table(own_data: Mapping[str, OwnData], folder: Path = paths.DATA) -> str:
    """Return one line per data set: the catalogue in the paper's order, then the user's own data."""
    rows = [
        (
            entry.name,
            entry.title,
            str(entry.openml_id),
            str(entry.rows),
            str(entry.features),
            str(entry.missing),
            f"{100 * max(entry.classes.values()) / entry.rows:.1f} %",
            at_hand(entry, folder),
        )
        for entry in catalogue.load().values()
    ]
    for name, own in own_data.items():
        state = "fetched" if paths.raw(name, folder).is_file() else own.path
        rows.append((name, "own data", "", "", "", "", "", state if Path(own.path).is_file() else "file missing"))
    return renderers.text(Table(LISTED, [[Cell(text) for text in row] for row in rows]))


def at_hand(entry: CatalogueEntry, folder: Path) -> str:
    if paths.raw(entry.name, folder).is_file():
        try:
            source = Provenance.read(entry.name, folder).source
        except UserError:
            source = UNKNOWN
        return f"fetched ({source})"
    states = [state for source in registered() if (state := source.at_hand(entry))]
    return states[0] if states else "needs OpenML"


def add_inspect(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="FILE", type=Path, help="a .csv, .arff or .parquet file")
    parser.add_argument("--target", metavar="COLUMN", help="the column with the classes (default: the last column)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the profile to this file")
    add_layout(parser)


def inspect(args: Namespace) -> None:
    """Print the profile of a file, and write it as JSON if that is asked. Without a target it is the last column."""
    path, target, layout = args.source, args.target, guessed_layout(args)
    columns = open_table(path, layout, known=[] if target is None else [target]).columns
    chosen = columns[-1] if target is None else target
    frame = read_frame(path, chosen, layout=layout)
    if frame.empty:
        raise UserError(f"{path}: there are no rows.")
    labelled = frame.dropna(subset=[chosen])
    if labelled.empty:
        raise UserError(
            f"{path}: every cell of the target '{chosen}' is empty; name the column of the classes with --target."
        )
    found = profile_of(path, labelled)
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
    suggested = suggest(frame, found)
    name = path.stem
    for suggestion in suggested:
        option = suggestion.command(name)
        if option.startswith("--"):
            option = f"ldep new {name} {path} --target {shlex.quote(chosen)} {option}"
        print(f"- {suggestion.text}: {option}")
    if args.json is not None:
        write_json(args.json, found.to_json())


def guessed_layout(args: Namespace) -> Layout:
    """Return the layout of a file: what the user says of it, and guesses for the rest."""
    guess = guess_layout(args.source)
    return Layout(args.delimiter or guess.delimiter, args.decimal or guess.decimal, args.encoding or guess.encoding)


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
            f"{column.missing / found.rows:.0%}" if column.missing else "",
            str(column.distinct),
            column.example,
            column.treatment,
        )
        for column in found.columns
    ]
    return renderers.text(Table(PROFILED, [[Cell(text) for text in row] for row in rows]))


def _classes(found: Profile) -> str:
    shown = [f"{label} {count} ({count / found.rows:.1%})" for label, count in found.classes.items()]
    rest = f", and {len(shown) - MOST_CLASSES} more" if len(shown) > MOST_CLASSES else ""
    return ", ".join(shown[:MOST_CLASSES]) + rest


def _in_words(layout: Layout, path: Path) -> str:
    if path.suffix.lower() != ".csv":
        return f"a {path.suffix} file"
    delimiter = "a tab" if layout.delimiter == "\t" else f"'{layout.delimiter}'"
    return f"cells separated by {delimiter}, decimal sign '{layout.decimal}', {layout.encoding}"


COMMANDS = {
    "datasets": CommandLine(add_datasets, datasets, "ldep datasets"),
    "inspect": CommandLine(add_inspect, inspect, "ldep inspect customers.csv --target churned"),
}
