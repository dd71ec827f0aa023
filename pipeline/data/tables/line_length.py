"""Text files whose lines are of a sane length: a reader of lines would hold a file of one line, many times over."""

from __future__ import annotations

from pathlib import Path

from pipeline.common.errors import UserError

LONGEST = 10_000_000  # bytes; a row of 100,000 features takes one or two million
BLOCK = 1 << 20


def check(path: Path, longest: int | None = None) -> None:
    """UserError if a line is longer, after reading no more than that, a block at a time."""
    limit = LONGEST if longest is None else longest
    number, length = 1, 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            parts = block.replace(b"\r", b"\n").split(b"\n")
            for position, part in enumerate(parts):
                if position:
                    number, length = number + 1, 0
                length += len(part)
                if length > limit:
                    raise UserError(
                        f"{path}: line {number} is longer than {limit:,} bytes; this is no table of rows. "
                        "If it is one, store it as Parquet."
                    )
