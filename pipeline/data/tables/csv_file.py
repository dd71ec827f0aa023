"""CSV, read strictly: a cell out of place is an error with its row, never a guess."""

from __future__ import annotations

import csv
import io
import logging
import math
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.common.errors import UserError
from pipeline.data.tables import line_length
from pipeline.data.tables.frames import categorical
from pipeline.encoding.cells import is_missing

log = logging.getLogger(__name__)


def read(path: Path, delimiter: str = ",", encoding: str = "utf-8", target: str | None = None) -> pd.DataFrame:
    """A column of numbers is numeric; any other is nominal, its categories sorted, since CSV declares no order.

    target: a column that must be there; a first line of numbers without it is taken for a missing header.
    """
    header, rows, numbers = _cells(path, delimiter, encoding, target)
    columns = zip(*rows) if rows else [()] * len(header)
    return pd.DataFrame(
        {name: _column(path, name, cells, numbers) for name, cells in zip(header, columns)},
    )


def _cells(
    path: Path, delimiter: str, encoding: str, target: str | None
) -> tuple[list[str], list[list[str]], list[int]]:
    """The header, the rows, and the line on which each row stands in the file."""
    text = io.StringIO(_text(path, encoding), newline="")  # the csv module ends the lines itself, quotes in mind
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=delimiter != " ", strict=True)
    rows, numbers = [], []
    try:
        for row in reader:
            if row:
                rows.append([cell.strip() for cell in row])
                numbers.append(reader.line_num)
    except csv.Error as error:
        raise UserError(f"{path}: line {reader.line_num}: {error}.") from None
    if not rows:
        raise UserError(f"{path} is empty; it needs a header and rows.")
    header = rows.pop(0)
    numbers.pop(0)
    _check_header(path, header, delimiter, target)
    for row, number in zip(rows, numbers):
        if len(row) != len(header):
            raise UserError(
                f"{path}: line {number} has {len(row)} cells where the header has {len(header)} "
                f"(delimiter '{delimiter}'); quote cells that contain it, or mend the line."
            )
    return header, rows, numbers


def _text(path: Path, encoding: str) -> str:
    try:
        line_length.check(path)
        content = path.read_bytes()
        # A byte order mark, as spreadsheets write it, is no part of the first column's name.
        return content.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file.") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(
            f"{path}: line {line} is not {encoding} text (byte 0x{content[error.start]:02x}); save the file as "
            "UTF-8, or name its encoding in own_data, e.g. encoding: latin-1."
        ) from None
    except LookupError:
        raise UserError(f"{path}: there is no encoding '{encoding}'; try utf-8 or latin-1.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None


def _check_header(path: Path, header: list[str], delimiter: str, target: str | None) -> None:
    if len(header) == 1:
        others = [other for other in ";\t|, " if other != delimiter and other in header[0]]
        if others:
            raise UserError(
                f"{path}: with the delimiter '{delimiter}' the header is one column, {header[0]!r}; "
                f"it seems to be {others[0]!r}: set delimiter: {others[0]!r} in own_data."
            )
    cell = next((cell for cell in header if _number(cell) is not None), None)
    if cell is not None and target not in header:  # with the target in place, columns may well be called 0, 1, 2
        raise UserError(
            f"{path}: there is no header: the first line holds the number {cell}. Put the columns' names there."
        )
    if "" in header:
        raise UserError(f"{path}: column {header.index('') + 1} of the header has no name.")
    repeated = [name for name in header if header.count(name) > 1]
    if repeated:
        raise UserError(f"{path}: the column '{repeated[0]}' appears twice; give each column its own name.")


def _number(cell: str) -> float | None:
    try:
        return float(cell) if "_" not in cell else None  # float() takes 1_000; a file does not mean it
    except ValueError:
        return None


def _column(path: Path, name: str, cells: tuple[str, ...], numbers: list[int]) -> object:
    values = [None if is_missing(cell) else cell for cell in cells]
    parsed = [math.nan if cell is None else _number(cell) for cell in values]
    strange = [index for index, number in enumerate(parsed) if number is None]
    if strange:
        if len(strange) < len(cells) / 20:
            log.warning(
                "%s: column '%s' is taken as nominal because of line %d, %r; all but %d of its cells are numbers.",
                path, name, numbers[strange[0]], cells[strange[0]], len(strange),
            )  # fmt: skip
        return categorical(values, sorted({cell for cell in values if cell is not None}))
    column = np.array(parsed, dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(column))
    if infinite.size:
        raise UserError(f"{path}: line {numbers[infinite[0]]}, column '{name}': an infinite number.")
    return column
