"""The formats that declare the types of their columns: ARFF and Parquet.

ARFF is read with liac-arff: its header declares the order of the categories, which becomes their code. Parquet has
numbers as they are, dictionaries in their stored order, text as text, and dates, which become text in ISO form.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import arff
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from ldep.table import cells
from ldep_pipeline.common.errors import UserError, first_line, short
from ldep_pipeline.data.tables import ROWS, Layout, Table, lines_of, string_column

NUMERIC = re.compile(r"\b(numeric|real|integer)\s*$", re.IGNORECASE)


class ArffTable(Table):
    def __init__(self, path: Path, layout: Layout) -> None:
        self.layout = layout
        self.path = path
        content, lines = self._load()
        self.kinds: dict[str, str | list[str]] = {
            name: "NUMERIC" if is_numeric else kind
            for (name, kind), is_numeric in zip(content["attributes"], lines.numeric_attributes)
        }
        for name, kind in self.kinds.items():
            category, count = Counter(kind).most_common(1)[0] if isinstance(kind, list) and kind else ("", 0)
            if count > 1:
                raise UserError(f"{path}: the attribute '{short(name)}' declares the category '{category}' twice.")
        super().__init__(path, list(self.kinds))

    def declares_order(self, column: str) -> bool:
        return isinstance(self.kinds[column], list)

    def pieces(self, columns: Sequence[str], numeric: Collection[str] = ()) -> Iterator[pa.Table]:
        self.require(columns)
        content, lines = self._load()
        positions = {name: position for position, name in enumerate(self.columns)}
        done = 0
        while rows := self._next_rows(content["data"], lines):
            piece = {}
            for name in columns:
                column = [row[positions[name]] for row in rows]
                is_numeric = self.kinds[name] == "NUMERIC"
                piece[name] = self._numbers(name, column, done) if is_numeric else self._texts(name, column)
            yield pa.table(piece)
            done += len(rows)

    def place(self, row: int) -> str:
        content, lines = self._load()
        for _ in itertools.islice(content["data"], row + 1):
            pass
        return f"line {lines.number}"

    def _numbers(self, name: str, strings: list[str | None], first_row: int) -> pa.Array:
        values = []
        for row, cell in enumerate(strings, first_row):
            try:
                values.append(cells.read_number(cell))
            except ValueError as error:
                raise UserError(f"{self.path}: {self.place(row)}, column '{short(name)}': {error}") from None
        return pa.array(values, pa.float64())

    def _texts(self, name: str, strings: list[str | None]) -> pa.Array:
        kind = self.kinds[name]
        if not isinstance(kind, list):
            return pa.array(strings, pa.string()).dictionary_encode()
        codes = {category: code for code, category in enumerate(kind)}
        indices = pa.array([None if value is None else codes[value] for value in strings], pa.int32())
        return pa.DictionaryArray.from_arrays(indices, pa.array(kind, pa.string()))

    def _load(self) -> tuple[dict[str, Any], _CountedLines]:
        lines = _CountedLines(lines_of(self.path, self.layout))
        try:
            return arff.load(lines, return_type=arff.DENSE_GEN), lines
        except (arff.ArffException, ValueError, IndexError) as error:
            raise self._error(error, lines) from None

    def _next_rows(self, data: Iterator[list[Any]], lines: _CountedLines) -> list[list[Any]]:
        try:
            return list(itertools.islice(data, ROWS))
        except (arff.ArffException, ValueError, OverflowError, IndexError) as error:
            raise self._error(error, lines) from None

    def _error(self, error: Exception, lines: _CountedLines) -> UserError:
        if isinstance(error, arff.ArffException):
            # Not its str: liac-arff knows the line only in the header, and takes a % of the file for one of its own.
            text = error.message.replace("%d", str(lines.number))
        elif isinstance(error, IndexError):
            text = "this cannot be read"
        else:
            text = str(error)
        reason = " ".join(text.split()).rstrip(".")
        return UserError(f"{self.path}, line {lines.number}: {reason}. The line: {lines.line.strip()[:100]!r}.")


class _CountedLines:
    """The lines of a file, which one was read last, and which attributes are declared as numbers.

    Numeric attributes are passed on as text: liac-arff would truncate the cells of INTEGER attributes, and take 1_000
    for a number.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.number, self.line = 0, ""
        self.numeric_attributes: list[bool] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.line = next(self._lines)
        self.number += 1
        if self.line.lstrip()[:10].upper() != "@ATTRIBUTE":
            return self.line
        line, found = NUMERIC.subn("STRING", self.line)
        self.numeric_attributes.append(bool(found))
        return line


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
