"""ARFF, read with liac-arff: the header declares the order of the categories, which becomes their code."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import arff
import pyarrow as pa

from pipeline.common.errors import UserError
from pipeline.data.tables import text
from pipeline.data.tables.layout import Layout
from pipeline.data.tables.table import ROWS, Table

INTEGER = re.compile(r"\binteger\s*$", re.IGNORECASE)


class ArffTable(Table):
    def __init__(self, path: Path, layout: Layout) -> None:
        self.layout = layout
        self.path = path
        content, _ = self._load()
        self.kinds: dict[str, str | list[str]] = dict(content["attributes"])
        for name, kind in self.kinds.items():
            repeated = [category for category in kind if kind.count(category) > 1] if isinstance(kind, list) else []
            if repeated:
                raise UserError(f"{path}: the attribute '{name}' declares the category '{repeated[0]}' twice.")
        super().__init__(path, list(self.kinds))

    def declares_order(self, column: str) -> bool:
        return isinstance(self.kinds[column], list)

    def pieces(self, columns: Sequence[str], numeric: Collection[str] = ()) -> Iterator[pa.Table]:
        self.require(columns)
        content, lines = self._load()
        positions = [self.columns.index(name) for name in columns]
        while rows := self._next_rows(content["data"], lines):
            yield pa.table(
                {
                    name: _column([row[position] for row in rows], self.kinds[name])
                    for name, position in zip(columns, positions)
                }
            )

    def _load(self) -> tuple[dict[str, Any], _CountedLines]:
        lines = _CountedLines(text.lines(self.path, self.layout))
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
    """The lines of a file, and which one was read last."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.number, self.line = 0, ""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.line = next(self._lines)
        self.number += 1
        # liac-arff truncates the cells of INTEGER attributes: 1.5 would be 1 here and 1.5 in every other format.
        return INTEGER.sub("numeric", self.line) if self.line.lstrip()[:10].upper() == "@ATTRIBUTE" else self.line


def _column(values: list[Any], kind: str | list[str]) -> pa.Array:
    if isinstance(kind, list):
        codes = {category: code for code, category in enumerate(kind)}
        indices = pa.array([None if value is None else codes[str(value)] for value in values], pa.int32())
        return pa.DictionaryArray.from_arrays(indices, pa.array(kind, pa.string()))
    if kind.upper() == "STRING":
        return pa.array([None if value is None else str(value) for value in values], pa.string()).dictionary_encode()
    return pa.array(values, pa.float64())
