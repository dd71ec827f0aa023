"""What a reader of one file format offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from pipeline.common.errors import UserError, nearest, short

ROWS = 100_000  # of a piece, where the format counts rows


class Table(ABC):
    """A file of rows, read in pieces of bounded size.

    A piece has numbers, truth values, text as dictionaries, and nothing else: whatever else a format can hold is
    turned into these, or refused with the name of the column.
    """

    declares_types = True  # whether a column of text is meant as text

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path, self.columns = path, list(columns)
        seen: set[str] = set()
        for name in self.columns:
            if name in seen:
                raise UserError(f"{path}: the column '{short(name)}' appears twice; give each column its own name.")
            seen.add(name)

    def require(self, columns: Collection[str]) -> None:
        present = set(self.columns)  # a table may have 100,000 columns
        for name in columns:
            if name not in present:
                raise UserError(f"{self.path} has no column '{short(name)}'; {nearest(name, self.columns)}")

    def declares_order(self, column: str) -> bool:
        """Whether the file lists the categories of a column, in an order of its own."""
        return False

    @abstractmethod
    def pieces(self, columns: Sequence[str], numeric: Collection[str] = ()) -> Iterator[pa.Table]:
        """Yield the rows of some columns. Those in `numeric` are probably numbers, which speeds up reading text."""

    def place(self, row: int) -> str:
        """Name a row for an error message; `row` counts from 0."""
        return f"data row {row + 1}"


def text_column(cells: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Text as a dictionary: each distinct text is then read once, not each cell."""
    return cells.cast(pa.string()).dictionary_encode()
