"""CSV, read strictly: a cell out of place is an error with its line, never a guess.

Python's csv module defines what a file means. Where a block has no quote there is nothing to define, and pyarrow reads
the same cells several times as fast.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from ldep.table import cells
from ldep_pipeline.common.errors import UserError, short
from ldep_pipeline.data.tables import LONGEST_LINE, Layout, Table, blocks, string_column

TEXT = pa.dictionary(pa.int32(), pa.string())
WITH_COMMA = re.compile(r"\s*[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?\s*", re.ASCII)
WITH_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?\s*", re.ASCII)  # where the decimal sign is a comma
WITH_POINT = re.compile(r"\s*[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
# What the guess of a layout looks at, and chooses from.
DELIMITERS = ",;\t|"
SAMPLE = 200_000  # bytes
ENCODINGS = ("utf-8", "cp1252")

csv.field_size_limit(LONGEST_LINE)  # the module's own limit of 131,072 characters is less than a text may have


class CsvTable(Table):
    declares_types = False

    def __init__(self, path: Path, layout: Layout, known: Collection[str] = ()) -> None:
        self.layout = layout
        self.path = path
        header = self._header(_Lines(blocks(path, layout)))
        _check_header(path, header, layout.delimiter, known)
        super().__init__(path, header)

    def pieces(self, columns: Sequence[str], numeric: Collection[str] = ()) -> Iterator[pa.Table]:
        self.require(columns)
        lines = _Lines(blocks(self.path, self.layout))
        self._header(lines)
        done = 0
        while block := lines.rest():
            piece = None if '"' in block else self._without_quotes(block, columns, numeric)
            if piece is None:
                piece = self._with_quotes(lines, block, columns)
            if len(piece):
                yield self._with_points(piece, done)
            done += len(piece)

    def place(self, row: int) -> str:
        for index, (line, _) in enumerate(self._rows(_Lines(blocks(self.path, self.layout)))):
            if index == row + 1:  # the header comes first
                return f"line {line}"
        return super().place(row)

    def _header(self, lines: Iterable[str]) -> list[str]:
        """The names in the first line that is not blank."""
        try:
            header = next((row for _, row in self._rows(lines)), None)
        except _BadRow as error:
            raise UserError(f"{self.path}: the header in line {error.line} has {error.reason}") from None
        if header is None:
            raise UserError(f"{self.path} is empty; it needs a line of column names, and rows.")
        return [cell.strip() for cell in header]

    def _rows(self, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        """Yield each row with the line on which it ends; blank lines are no rows."""
        delimiter = self.layout.delimiter
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != " ", strict=True)
        try:
            for row in reader:
                if row:
                    yield reader.line_num, row
        except csv.Error as error:
            raise _BadRow(reader.line_num, f"cells that cannot be read: {error}.") from None

    def _without_quotes(self, block: str, columns: Sequence[str], numeric: Collection[str]) -> pa.Table | None:
        """Read a block with pyarrow; None if something in it needs a closer look."""
        content = block.encode()
        if not self.layout.delimiter.isascii():
            return None
        for chosen in dict.fromkeys([frozenset(numeric), frozenset[str]()]):
            types = {name: pa.float64() if name in chosen else TEXT for name in columns}
            try:
                piece = pyarrow.csv.read_csv(
                    io.BytesIO(content),
                    pyarrow.csv.ReadOptions(column_names=self.columns, block_size=len(content) + 1),
                    pyarrow.csv.ParseOptions(delimiter=self.layout.delimiter, quote_char=False),
                    pyarrow.csv.ConvertOptions(
                        column_types=types,
                        include_columns=list(columns),
                        null_values=sorted(cells.MISSING) if chosen else [],
                        strings_can_be_null=True,
                        decimal_point=self.layout.decimal,
                    ),
                )
            except pa.ArrowInvalid:
                continue
            # What pyarrow takes for infinite or not a number is left to the one reading of cells.
            if all(pc.all(pc.is_finite(piece.column(name))).as_py() is not False for name in chosen & {*columns}):
                return piece
        return None

    def _with_quotes(self, lines: _Lines, block: str, columns: Sequence[str]) -> pa.Table:
        """Read the rows that begin in a block; the last one may end in the next block."""
        lines.put_back(block)
        rows = []
        try:
            for line, row in self._rows(lines):
                if len(row) != len(self.columns):
                    raise _BadRow(line, self._ragged(row))
                rows.append(row)
                if lines.at_end_of_block:
                    break
        except _BadRow:
            self._raise_with_line()
            raise
        by_name = dict(zip(self.columns, zip(*rows) if rows else [()] * len(self.columns)))
        return pa.table({name: pa.array(by_name[name], pa.string()).dictionary_encode() for name in columns})

    def _ragged(self, row: list[str]) -> str:
        return (
            f"{len(row)} cells where the header has {len(self.columns)} (delimiter '{self.layout.delimiter}'); "
            "quote cells that contain it, or correct the line."
        )

    def _raise_with_line(self) -> None:
        """Read from the start, where lines are counted, up to the row that is wrong."""
        try:
            for line, row in self._rows(_Lines(blocks(self.path, self.layout))):
                if len(row) != len(self.columns):
                    raise _BadRow(line, self._ragged(row))
        except _BadRow as error:
            raise UserError(f"{self.path}: line {error.line} has {error.reason}") from None

    def _with_points(self, piece: pa.Table, first_row: int) -> pa.Table:
        """Turn '1,5' into '1.5', and '1.234' into '1234', where the decimal sign is a comma. '1.5' is refused there."""
        if self.layout.decimal == ".":
            return piece
        for position, name in enumerate(piece.column_names):
            column = piece.column(position)
            if not pa.types.is_dictionary(column.type):
                continue
            column = column.combine_chunks()
            column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
            strings = column.dictionary.to_pylist()
            strings = [cell.replace(".", "") if WITH_THOUSANDS.fullmatch(cell) else cell for cell in strings]
            wrong = next((index for index, cell in enumerate(strings) if WITH_POINT.fullmatch(cell)), None)
            if wrong is not None:
                row = first_row + pc.index(column.indices, wrong).as_py()
                raise UserError(
                    f"{self.path}: {self.place(row)}, column '{short(name)}': {strings[wrong]!r} has a point, but the "
                    "decimal sign is a comma; write numbers in one way."
                )
            points = [cell.replace(",", ".") if WITH_COMMA.fullmatch(cell) else cell for cell in strings]
            column = pa.DictionaryArray.from_arrays(column.indices, pa.array(points, pa.string()))
            piece = piece.set_column(position, name, string_column(column))
        return piece


class _BadRow(Exception):
    """A row that is not as the header announces it; `line` counts from where the reader began."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line, self.reason = line, reason


class _Lines:
    """The lines of a file, for the csv module, with access to the block that they come from."""

    def __init__(self, blocks: Iterator[str]) -> None:
        self._blocks = blocks
        self.put_back("")

    def put_back(self, block: str) -> None:
        self._block, self._size = io.StringIO(block, newline=""), len(block)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.at_end_of_block:
            self.put_back(next(self._blocks))
        return self._block.readline()

    @property
    def at_end_of_block(self) -> bool:
        return self._block.tell() >= self._size

    def rest(self) -> str:
        """What is left of the block at hand, or else the next block; '' at the end of the file."""
        return self._block.read() or next(self._blocks, "")


def _check_header(path: Path, header: list[str], delimiter: str, known: Collection[str]) -> None:
    if len(header) == 1:
        others = [other for other in ";\t|, " if other != delimiter and other in header[0]]
        if others:
            raise UserError(
                f"{path}: with the delimiter '{delimiter}' the header is one column, '{short(header[0])}'; it seems "
                f"to be {others[0]!r} (own_data: delimiter: {others[0]!r}, ldep score: --delimiter)."
            )
    number = next((cell for cell in header if isinstance(cells.read(cell), float)), None)
    if number is not None and not set(known) & set(header):  # with those in place, columns may be called 0, 1, 2
        raise UserError(
            f"{path}: there is no header: the first line holds the number {number}. Put the columns' names there."
        )
    if "" in header:
        raise UserError(f"{path}: column {header.index('') + 1} of the header has no name.")


def guess_layout(path: Path) -> Layout:
    """Return the delimiter, decimal sign and encoding that fit the beginning of a CSV file best."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return Layout()
    with path.open("rb") as file:
        content = file.read(SAMPLE)
    encoding = next((name for name in ENCODINGS if _decodes(content, name)), "utf-8")
    lines = content.decode(encoding, errors="replace").splitlines()[:1000]
    if len(content) == SAMPLE:
        lines = lines[:-1]  # the last line may be cut
    delimiter = max(DELIMITERS, key=lambda sign: _fit(lines, sign))
    if _fit(lines, delimiter) == 0:
        return Layout(encoding=encoding)
    cells = [cell for row in csv.reader(lines[1:], delimiter=delimiter) for cell in row]
    commas = sum(WITH_COMMA.fullmatch(cell) is not None for cell in cells)
    points = sum(WITH_POINT.fullmatch(cell) is not None for cell in cells)
    return Layout(delimiter, "," if delimiter != "," and commas > points else ".", encoding)


def _decodes(content: bytes, encoding: str) -> bool:
    try:
        # A character of several bytes may be cut at the end of the sample.
        content[: content.rfind(b"\n") + 1 or None].decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _fit(lines: list[str], delimiter: str) -> int:
    """Number of columns, if nearly all lines have the same number of them; else 0."""
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return 0
    if not widths or widths[0] < 2:
        return 0
    return widths[0] if widths.count(widths[0]) >= 0.9 * len(widths) else 0
