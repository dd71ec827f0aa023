"""Parquet: numbers as they are, dictionaries in their stored order, text as text, dates as text in ISO form."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from ldep_pipeline.common.errors import UserError, first_line, short
from ldep_pipeline.data.tables import ROWS, Table, string_column

UNREADABLE = (pa.ArrowException, OSError, ValueError, MemoryError)  # what pyarrow raises for a damaged file
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # per second


class ParquetTable(Table):
    def __init__(self, path: Path) -> None:
        self.path = path
        schema = self._open().schema_arrow
        index = _index_columns(schema)
        self.schema = schema
        super().__init__(path, [name for name in schema.names if name not in index])

    def declares_order(self, column: str) -> bool:
        return pa.types.is_dictionary(self.schema.field(column).type)

    def pieces(self, columns: Sequence[str], numeric: Collection[str] = ()) -> Iterator[pa.Table]:
        self.require(columns)
        for name in columns:
            self._check_type(name)
        try:
            for batch in self._open().iter_batches(batch_size=ROWS, columns=list(columns)):
                piece = pa.Table.from_batches([batch])
                yield pa.table({name: self._plain(name, piece.column(name)) for name in columns})
        except UNREADABLE as error:
            raise UserError(f"{self.path} is not a readable Parquet file: {first_line(error)}.") from None

    def _plain(self, name: str, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        try:
            return _plain(cells)
        except pa.ArrowInvalid as error:
            raise UserError(f"{self.path}: the column '{short(name)}' cannot be read: {first_line(error)}.") from None

    def _open(self) -> pyarrow.parquet.ParquetFile:
        try:
            return pyarrow.parquet.ParquetFile(self.path, pre_buffer=False)  # a buffer would hold what was read
        except UNREADABLE as error:
            raise UserError(f"{self.path} is not a readable Parquet file: {first_line(error)}.") from None

    def _check_type(self, name: str) -> None:
        kind = self.schema.field(name).type
        value = kind.value_type if pa.types.is_dictionary(kind) else kind
        checks = (
            *(pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_null),
            *(pa.types.is_duration, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
            *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_date, pa.types.is_timestamp),
        )
        if not any(check(value) for check in checks):
            raise UserError(
                f"{self.path}: the column '{short(name)}' holds {kind}, neither numbers nor text; leave it out "
                "(own_data: ignore), or store it as numbers."
            )


def _index_columns(schema: pa.Schema) -> set[str]:
    """The index of a pandas frame is stored as a column but is not a feature."""
    try:
        stored = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
    except (KeyError, ValueError, TypeError):
        return set()
    return {name for name in stored if isinstance(name, str)}


def _plain(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = cells.type
    if pa.types.is_decimal(kind):  # by way of text, which is rounded correctly
        return cells.cast(pa.string()).cast(pa.float64())
    if pa.types.is_duration(kind):  # Python's quotient of integers is rounded correctly too
        ticks = cells.cast(pa.int64()).to_pylist()
        seconds = [None if tick is None else tick / TICKS[kind.unit] for tick in ticks]
        return pa.chunked_array([pa.array(seconds, pa.float64())])
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return string_column(_iso(cells))
    if pa.types.is_null(kind):
        return cells.cast(pa.float64())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return cells
    if pa.types.is_dictionary(kind):
        return pa.chunked_array([_text_categories(chunk) for chunk in cells.chunks], _TEXT)
    cells.validate(full=True)  # a writer may have stored bytes that are not UTF-8 as text
    return string_column(cells)


_TEXT = pa.dictionary(pa.int32(), pa.string())


def _iso(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dates as '2024-02-29', times as '2024-02-29 12:30:00' in UTC; fractions of a second are dropped."""
    seconds = cells.cast(pa.timestamp("s"), safe=False)
    with_times = pa.types.is_timestamp(cells.type) and pc.any(
        pc.not_equal(seconds, pc.floor_temporal(seconds, unit="day"))
    )
    return pc.strftime(seconds, format="%Y-%m-%d %H:%M:%S" if with_times and with_times.as_py() else "%Y-%m-%d")


def _text_categories(cells: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same cells, with categories of any type as text, in their stored order."""
    categories = cells.dictionary
    categories.validate(full=True)
    kind = categories.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_large_string(kind):
        strings = categories.cast(pa.string())
    else:
        strings = pa.array([None if value is None else str(value) for value in categories.to_pylist()], pa.string())
    return pa.DictionaryArray.from_arrays(cells.indices.cast(pa.int32()), strings)
