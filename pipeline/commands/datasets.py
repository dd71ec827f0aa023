"""Lists the data sets of the catalogue and the user's own, and where each is available from."""

from __future__ import annotations

from pathlib import Path

from pipeline.common.errors import UserError
from pipeline.config import catalogue, paths
from pipeline.config.catalogue import Entry
from pipeline.config.params import OwnData
from pipeline.data.provenance import UNKNOWN, Provenance
from pipeline.data.sources import registered
from pipeline.reporting import renderers
from pipeline.reporting.table import Cell, Column, Table

COLUMNS = (
    Column("name", "left"),
    Column("in the paper", "left"),
    Column("OpenML"),
    Column("rows"),
    Column("features"),
    Column("missing"),
    Column("majority"),
    Column("available from", "left"),
)


def table(own_data: dict[str, OwnData], folder: Path = paths.DATA) -> str:
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
    return renderers.text(Table(COLUMNS, [[Cell(text) for text in row] for row in rows]))


def at_hand(entry: Entry, folder: Path) -> str:
    if paths.raw(entry.name, folder).is_file():
        try:
            source = Provenance.read(entry.name, folder).source
        except UserError:
            source = UNKNOWN
        return f"fetched ({source})"
    states = [state for source in registered() if (state := source.at_hand(entry))]
    return states[0] if states else "needs OpenML"
