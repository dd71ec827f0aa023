"""The catalogue as a table, with what is at hand."""

from __future__ import annotations

from pathlib import Path

from pipeline.common.errors import UserError
from pipeline.config import catalogue, paths
from pipeline.config.catalogue import Entry
from pipeline.config.params import OwnData
from pipeline.data.provenance import UNKNOWN, Provenance

HEAD = ("name", "in the paper", "OpenML", "rows", "features", "missing", "majority", "at hand")


def table(own_data: dict[str, OwnData], folder: Path = paths.DATA) -> str:
    """Return one line a set: the catalogue in the paper's order, then the user's own data."""
    from pipeline.data.sources import openml

    cache = openml.cache_folder()
    rows = [
        (
            entry.name,
            entry.title,
            str(entry.openml_id),
            str(entry.rows),
            str(entry.features),
            str(entry.missing),
            f"{100 * max(entry.classes.values()) / entry.rows:.1f} %",
            at_hand(entry, cache, folder),
        )
        for entry in catalogue.load().values()
    ]
    for name, own in own_data.items():
        state = "fetched" if paths.raw(name, folder).is_file() else own.path
        rows.append((name, "own data", "", "", "", "", "", state if Path(own.path).is_file() else "file missing"))
    widths = [max(len(row[column]) for row in [HEAD, *rows]) for column in range(len(HEAD))]
    return "\n".join(_line(row, widths) for row in [HEAD, *rows])


def at_hand(entry: Entry, cache: Path, folder: Path) -> str:
    if paths.raw(entry.name, folder).is_file():
        try:
            source = Provenance.read(entry.name, folder).source
        except UserError:
            source = UNKNOWN
        return f"fetched ({source})"
    held = cache / str(entry.openml_id)
    if (held / "description.xml").is_file() and (
        (held / "dataset.arff").is_file() or (held / f"dataset_{entry.openml_id}.pq").is_file()
    ):
        return "openml cache"
    return f"packaged: {entry.packaged}" if entry.packaged else "needs OpenML"


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    numbers = range(2, 7)
    cells = [f"{cell:>{w}}" if i in numbers else f"{cell:<{w}}" for i, (cell, w) in enumerate(zip(row, widths))]
    return "  ".join(cells).rstrip()
