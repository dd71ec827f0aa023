"""Text files in blocks of whole lines: bounded memory, and errors that name the line."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from pipeline.common.errors import UserError
from pipeline.data.tables.layout import Layout

LONGEST_LINE = 10_000_000  # characters; a row of 100,000 features takes one or two million
BLOCK = 1 << 21  # bytes read at a time


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


def lines(path: Path, layout: Layout) -> Iterator[str]:
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
