"""Which reader a file needs, by its suffix."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pipeline.common.errors import UserError
from pipeline.data.tables.arff_table import ArffTable
from pipeline.data.tables.csv_table import CsvTable
from pipeline.data.tables.layout import Layout
from pipeline.data.tables.parquet_table import ParquetTable
from pipeline.data.tables.table import Table

SUFFIXES = (".csv", ".arff", ".parquet", ".pq")


def open_table(path: Path, layout: Layout | None = None, known: Collection[str] = ()) -> Table:
    """Open a file of rows. `known` are columns that it should have, by which a missing header is noticed."""
    layout = layout or Layout()
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(f"{path}: '{path.suffix}' is not a format read here; use .csv, .arff or .parquet.")
    if not path.is_file():
        raise UserError(f"{path}: there is no such file.")
    if suffix == ".csv":
        return CsvTable(path, layout, known)
    return ArffTable(path, layout) if suffix == ".arff" else ParquetTable(path)
