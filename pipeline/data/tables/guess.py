"""Guessing how a CSV file is written, for a first look at it."""

from __future__ import annotations

import csv
from pathlib import Path

from pipeline.data.tables.csv_table import WITH_COMMA, WITH_POINT
from pipeline.data.tables.layout import Layout

DELIMITERS = ",;\t|"
SAMPLE = 200_000  # bytes
ENCODINGS = ("utf-8", "cp1252")


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
