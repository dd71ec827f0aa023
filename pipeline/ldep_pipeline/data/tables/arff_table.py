"""ARFF, read with liac-arff: the header declares the order of the categories, which becomes their code."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import arff
import pyarrow as pa

from ldep_pipeline.common.errors import UserError, short
from ldep_pipeline.data import cells
from ldep_pipeline.data.tables import ROWS, Layout, Table, lines_of

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
        except (arff.ArffException, ValueError) as error:
            raise self._error(error, lines) from None

    def _next_rows(self, data: Iterator[list[Any]], lines: _CountedLines) -> list[list[Any]]:
        try:
            return list(itertools.islice(data, ROWS))
        except (arff.ArffException, ValueError, OverflowError) as error:
            raise self._error(error, lines) from None

    def _error(self, error: Exception, lines: _CountedLines) -> UserError:
        if isinstance(error, arff.ArffException):
            error.line = lines.number  # liac-arff sets it only while it reads the header
        reason = " ".join(str(error).split()).rstrip(".")
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
