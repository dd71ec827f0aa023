"""The command `ldep diff`: where two versions of a model differ, proven on the range of the training rows."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldep.export import NotExportable
from ldep.model import active_pieces
from ldep_pipeline.commands import CommandLine
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.common.files import write_json, write_text
from ldep_pipeline.config import paths
from ldep_pipeline.data import settings
from ldep_pipeline.data.stage_files import read_raw
from ldep_pipeline.data.tables import csv_table, open_table
from ldep_pipeline.registry import download, promises
from ldep_pipeline.report import page, renderers
from ldep_pipeline.report.page import Block, FilledSection, Page
from ldep_pipeline.report.renderers import Cell, Column, Table
from ldep_pipeline.serving.served_model import ServedModel

if TYPE_CHECKING:
    from ldep.prove import Difference

MOST_REGIONS = 10  # that are listed
TYPICAL = 3  # rows per class whose nearest disagreement is looked for
SECONDS = 120.0


def add_diff(parser: ArgumentParser) -> None:
    for place in ("first", "second"):
        parser.add_argument(place, metavar="MODEL_URI", help="models:/NAME@ALIAS, models:/NAME/VERSION, or a folder")
    parser.add_argument(
        "--rows", type=Path, metavar="FILE", help="rows whose ranges are compared (default: the training rows)"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a page")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="also write the evidence of the bounds")
    parser.add_argument(
        "--seconds", type=_seconds, default=SECONDS, help=f"time limit of the proofs (default: {SECONDS:g})"
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise ArgumentTypeError(f"'{text}' is not a number above 0")
    return value


def diff(args: Namespace) -> None:
    result = run(args.first, args.second, args.rows, args.seconds)
    print("\n\n".join(_text(title, parts) for title, parts in sections(result).items()))
    if args.html is not None:
        write_text(args.html, html(result))
    if args.certificate is not None:
        write_json(args.certificate, result.found.certificate)


@dataclass(frozen=True)
class Region:
    """Rows on which the models disagree, and on which the same pieces of both are active."""

    rows: pd.DataFrame
    answers: tuple[str, str]


@dataclass(frozen=True)
class Result:
    """Two models on some rows.

    `typical` are the rows in the middle of each class of the first model, in the order of `found.nearest`.
    """

    names: tuple[str, str]
    classes: list[str]
    rows: pd.DataFrame
    typical: pd.DataFrame
    regions: list[Region]
    found: Difference


def run(first: str, second: str, source: Path | None = None, seconds: float = SECONDS, root: Path = Path()) -> Result:
    """Compare two models on the rows of a file, or on the rows that the project trains on."""
    from ldep import prove

    models = [download.load(uri, root) for uri in (first, second)]
    rows = _rows(first, models, source, root)
    try:
        typical = _typical(models[0], rows)
        found = prove.difference(models[0].table, models[1].table, rows, typical=typical, seconds=seconds)
    except NotExportable as error:
        raise UserError(f"{first} and {second} are not compared: only ℓ-DEPs are. {error}") from None
    except ValueError as error:
        raise UserError(f"{first} and {second} are not compared: {str(error).rstrip('.')}.") from None
    return Result((first, second), models[0].classes, rows, typical, _regions(models, rows), found)


def _rows(uri: str, models: list[ServedModel], source: Path | None, root: Path) -> pd.DataFrame:
    wanted = list(dict.fromkeys([*models[0].columns, *models[1].columns]))
    if source is not None:
        table = open_table(source, csv_table.guess_layout(source) if source.suffix == ".csv" else None)
        table.require(wanted)
        return pd.concat([piece.to_pandas() for piece in table.pieces(wanted)], ignore_index=True)
    address = download.ADDRESS.fullmatch(uri)
    name = address["name"].removeprefix(download.PREFIX) if address is not None else ""
    if not name or not settings.raw(name, root / paths.DATA).is_file():
        raise UserError(f"{uri}: this project has no training rows of it; name a file with --rows.")
    return read_raw(name, root / paths.DATA)[wanted]


def _typical(model: ServedModel, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of each predicted class that are nearest to its mean."""
    X = model.numbers(rows)
    Z = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    chosen: list[int] = []
    numbers = model.class_numbers(X)
    for number in np.unique(numbers):
        own = np.flatnonzero(numbers == number)
        far = np.linalg.norm(Z[own] - Z[own].mean(axis=0), axis=1)
        chosen += own[np.argsort(far, kind="stable")[:TYPICAL]].tolist()
    return rows.iloc[chosen]


def _regions(models: list[ServedModel], rows: pd.DataFrame) -> list[Region]:
    """The rows on which the models disagree, by active pieces and answers; the largest region first."""
    numbers = [model.numbers(rows) for model in models]
    answers = [model.class_numbers(X) for model, X in zip(models, numbers)]
    differ = np.flatnonzero(answers[0] != answers[1])
    if not len(differ):
        return []
    scaled = [
        model.rest[:-1].transform(X[differ]) if len(model.rest) > 1 else X[differ] for model, X in zip(models, numbers)
    ]
    active = [active_pieces(model.table.fitted, X) for model, X in zip(models, scaled)]
    keys = np.column_stack([answers[0][differ], answers[1][differ], *active])
    _, groups = np.unique(keys, axis=0, return_inverse=True)
    found = []
    for group in range(int(groups.max()) + 1):
        own = differ[groups.ravel() == group]
        labels = tuple(models[0].classes[answer[own[0]]] for answer in answers)
        found.append(Region(rows.iloc[own], (labels[0], labels[1])))
    return sorted(found, key=lambda region: -len(region.rows))


Part = str | Table


def sections(result: Result) -> dict[str, list[Part]]:
    """What the text and the page say, under their titles."""
    return {
        "Where they differ most": list(_extremes(result)),
        "Where their classes differ": list(_disagreements(result)),
        "How far typical rows are from a disagreement": list(_nearest(result)),
    }


def _extremes(result: Result) -> Iterator[Part]:
    yield (
        f"The largest differences of the decision value of {result.names[1]} from that of {result.names[0]}, over all "
        "combinations of values in the ranges of the rows. No row differs by more than the bound, which is proven."
    )
    columns = [
        Column("row", "left", wraps=True),
        Column("first"),
        Column("second"),
        Column("difference"),
        Column("bound"),
    ]
    cells = []
    for extreme in result.found.extremes:
        before, after = extreme.values
        numbers = (before, after, after - before)
        row = promises.rows_text([extreme.row])
        cells.append([Cell(row), *(Cell(f"{value:.4g}", value) for value in numbers), Cell(f"{extreme.bound:.4g}")])
    yield Table(columns, cells)


def _disagreements(result: Result) -> Iterator[Part]:
    rows = sum(len(region.rows) for region in result.regions)
    total = len(result.rows)
    yield f"They answer {rows} of the {total} rows differently ({100 * rows / total:.1f} %)."
    sentences = []
    for found in result.found.disagreements:
        what = f"first ‘{found.classes[0]}’, then ‘{found.classes[1]}’"
        if found.row is not None:
            sentences.append([Cell(what), Cell(promises.rows_text([found.row]))])
        else:
            sentences.append([Cell(what), Cell("never: proven" if found.decided else "not decided in time")])
    yield Table([Column("classes", "left"), Column("a row within the ranges", "left", wraps=True)], sentences)
    if not result.regions:
        return
    yield "The rows that they answer differently, in the regions that the active pieces of both models make:"
    columns = [Column("first", "left"), Column("second", "left"), Column("rows"), Column("values", "left", wraps=True)]
    cells = []
    for region in result.regions[:MOST_REGIONS]:
        size = len(region.rows)
        cells.append([*(Cell(answer) for answer in region.answers), Cell(str(size), size), Cell(_ranges(region.rows))])
    yield Table(columns, cells)
    if len(result.regions) > MOST_REGIONS:
        yield f"{len(result.regions) - MOST_REGIONS} smaller regions are left out."


def _ranges(rows: pd.DataFrame) -> str:
    parts = []
    for name, column in rows.items():
        known = column.dropna()
        if known.empty:
            parts.append(f"{name} missing")
        elif pd.api.types.is_numeric_dtype(known):
            low, high = f"{known.min():.4g}", f"{known.max():.4g}"
            parts.append(f"{name} {low}" if low == high else f"{name} {low} to {high}")
        else:
            values = sorted(known.astype(str).unique())
            parts.append(f"{name} {' or '.join(values[:3])}{' …' if len(values) > 3 else ''}")
    return ", ".join(parts)


def _nearest(result: Result) -> Iterator[Part]:
    yield (
        "How far every number of a typical row may change, in standard deviations and all at once, before the models "
        "can disagree. Within the bound they agree: this is proven."
    )
    columns = [
        Column("typical row", "left", wraps=True),
        Column("bound"),
        Column("distance"),
        Column("changes", "left", wraps=True),
    ]
    cells = []
    for (_, row), near in zip(result.typical.iterrows(), result.found.nearest):
        own: dict[str, Any] = {str(name): row[name] for name in result.found.names}
        shown = promises.rows_text([{name: None if pd.isna(value) else value for name, value in own.items()}])
        changes = "" if near.row is None else _changes(own, near.row)
        far = "none found" if near.row is None else f"{near.distance:.3g}"
        cells.append([Cell(shown), Cell(f"{near.bound:.3g}"), Cell(far), Cell(changes)])
    yield Table(columns, cells)


def _changes(before: dict[str, Any], after: dict[str, Any]) -> str:
    changed = {
        name: value
        for name, value in after.items()
        if isinstance(value, float)
        and not np.isclose(value, float(before[name]) if before[name] is not None else np.nan)
    }
    return promises.rows_text([changed]) if changed else "nothing: they disagree on the row itself"


def _text(title: str, parts: list[Part]) -> str:
    return "\n\n".join([title.upper(), *(part if isinstance(part, str) else renderers.text(part) for part in parts)])


def html(result: Result) -> str:
    """The page."""
    filled = []
    for place, (title, parts) in enumerate(sections(result).items()):
        blocks: list[Block] = [] if place else [page.heading(title)]
        for number, part in enumerate(parts):
            found = page.paragraph(part) if isinstance(part, str) else page.table(part, f"table-{place}-{number}")
            blocks += [found] if found is not None else []
        filled.append(FilledSection(f"part-{place}", title, blocks))
    first, second = result.names
    lead = (
        f"Everything is about rows within the ranges of {len(result.rows):,} rows. Differences and bounds are proven."
    )
    return Page(f"{first} and {second}", "Two versions of a model", f"{first} and {second}. {lead}", filled).html(
        {}, {}
    )


COMMANDS = {
    "diff": CommandLine(add_diff, diff, "ldep diff models:/ldep-churn/1 models:/ldep-churn/2 --html difference.html")
}
