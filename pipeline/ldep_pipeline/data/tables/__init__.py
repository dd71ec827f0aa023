"""Tables in files: one reader of CSV, ARFF and Parquet, for training, scoring and streaming."""

from __future__ import annotations

import codecs
import io
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ldep_pipeline.common.errors import UserError, nearest, short

SUFFIXES = (".csv", ".arff", ".parquet", ".pq")
ROWS = 100_000  # of a piece, where the format counts rows
LONGEST_LINE = 10_000_000  # characters; a row of 100,000 features takes one or two million
BLOCK = 1 << 21  # bytes read at a time


@dataclass(frozen=True)
class Layout:
    """The same three settings for own_data and for `ldep score`. ARFF uses the encoding alone, Parquet none."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n\0':
            raise UserError(
                f"the delimiter {self.delimiter!r} cannot be used; it is one character, such as ',' or ';'."
            )
        if self.decimal not in (".", ","):
            raise UserError(f"the decimal sign {self.decimal!r} cannot be used; it is '.' or ','.")
        if self.decimal == self.delimiter:
            raise UserError(f"the delimiter and the decimal sign are both '{self.decimal}'; set another delimiter.")
        if not _is_text_encoding(self.encoding):
            raise UserError(f"there is no encoding '{self.encoding}' for text files; try utf-8 or latin-1.")

    def decoder(self) -> codecs.IncrementalDecoder:
        # A byte order mark, as spreadsheets write it, is not part of the first column's name.
        name = codecs.lookup(self.encoding).name
        return codecs.getincrementaldecoder("utf-8-sig" if name == "utf-8" else name)("strict")


class Table(ABC):
    """A file of rows, read in pieces of bounded size.

    A piece has numbers, booleans, strings as dictionaries, and nothing else: whatever else a format can hold is
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


def open_table(path: Path, layout: Layout | None = None, known: Collection[str] = ()) -> Table:
    """Open a file of rows with the reader that its suffix names.

    `known` are columns that it should have, by which a missing header is noticed.
    """
    from ldep_pipeline.data.tables.csv_table import CsvTable

    # The readers import this module.
    from ldep_pipeline.data.tables.typed_tables import ArffTable, ParquetTable

    layout = layout or Layout()
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(f"{path}: '{path.suffix}' is not a format read here; use .csv, .arff or .parquet.")
    if not path.is_file():
        raise UserError(f"{path}: there is no such file.")
    if suffix == ".csv":
        return CsvTable(path, layout, known)
    return ArffTable(path, layout) if suffix == ".arff" else ParquetTable(path)


def string_column(cells: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Text as a dictionary: each distinct text is then read once, not each cell."""
    return cells.cast(pa.string()).dictionary_encode()


def blocks(path: Path, layout: Layout) -> Iterator[str]:
    """Yield the file's text in blocks that end with a line.

    UserError if the file cannot be read, is not in the declared encoding, or has a line longer than LONGEST_LINE: a
    reader of lines would hold a file of one endless line, several times over.
    """
    number = 1  # of the first line of the text at hand
    pending = ""
    decoder = layout.decoder()
    for content in _contents(path):
        try:
            text = pending + decoder.decode(content, final=not content)
        except UnicodeError as error:
            raise UserError(f"{path}: {_undecodable(error, layout.encoding, pending, number)}") from None
        end = max(text.rfind("\n"), text.rfind("\r", 0, -1)) + 1  # a final \r may be the first half of \r\n
        whole, pending = text[:end], text[end:]
        _check_lengths(path, whole, number)
        number += count_lines(whole)
        _check_lengths(path, pending, number)
        if whole:
            yield whole
    if pending:
        yield pending


def lines_of(path: Path, layout: Layout) -> Iterator[str]:
    """Yield the file's lines, each with a plain line break at its end."""
    for block in blocks(path, layout):
        yield from io.StringIO(block, newline=None)


def count_lines(text: str) -> int:
    returns = text.count("\r")
    return text.count("\n") + (returns - text.count("\r\n") if returns else 0)


def _contents(path: Path) -> Iterator[bytes]:
    """Yield the file's bytes a block at a time, and an empty block at its end."""
    try:
        with path.open("rb") as file:
            while content := file.read(BLOCK):
                yield content
        yield b""
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None


def _undecodable(error: UnicodeError, encoding: str, pending: str, number: int) -> str:
    if not isinstance(error, UnicodeDecodeError):  # such as a file without the byte order mark that utf-16 needs
        return f"this is not {encoding} text ({error})."
    readable = pending + error.object[: error.start].decode(encoding, "replace")
    return (
        f"line {number + count_lines(readable)} is not {encoding} text (byte 0x{error.object[error.start]:02x}); save "
        "the file as UTF-8, or name its encoding, for example own_data: encoding: latin-1, or ldep score: "
        "--encoding latin-1."
    )


def _check_lengths(path: Path, text: str, number: int) -> None:
    if len(text) <= LONGEST_LINE:
        return
    for offset, line in enumerate(io.StringIO(text, newline=None)):
        if len(line.rstrip("\n")) > LONGEST_LINE:
            raise UserError(
                f"{path}: line {number + offset} is longer than {LONGEST_LINE:,} characters; "
                "this does not look like a table. If it is one, store it as Parquet."
            )


def _is_text_encoding(name: str) -> bool:
    """Whether text survives the encoding piece by piece. Python also lists codecs such as punycode and undefined."""
    try:
        for sample in ("a;1\n", "é;1\n"):
            try:
                content = sample.encode(name)
            except UnicodeEncodeError:  # an encoding without this letter, such as ascii
                continue
            content.decode(name, "replace")  # idna cannot, and a message about a wrong byte needs it
            decoder = codecs.getincrementaldecoder(name)("strict")
            text = "".join(decoder.decode(content[i : i + 1]) for i in range(len(content))) + decoder.decode(b"", True)
            if text != sample:
                return False
    except (LookupError, ValueError, TypeError):
        return False
    return True
