"""A log of the raw rows that a server was asked about: one JSON object per line and row, in a file of bounded size.

Several processes append to it. Each holds the file's lock while it writes, so that lines are never mixed, and the
process that finds the file full renames it to FILE.1 and begins a new one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from ldep_pipeline.common.errors import UserError

log = logging.getLogger(__name__)
SUFFIX = ".jsonl"
ROWS = 10_000  # of a part that is read
LONGEST_LINE = 10_000_000  # characters


@dataclass(frozen=True)
class RequestLog:
    """A log file, and the size in bytes at which it is renamed."""

    path: Path
    size: int

    def check(self) -> None:
        """Raise UserError if rows cannot be appended."""
        if self.path.suffix != SUFFIX:
            raise UserError(f"{self.path}: the name of a log of requests must end with {SUFFIX}.")
        try:
            with self._locked():
                pass
        except OSError as error:
            raise UserError(f"{self.path} cannot be written: {error.strerror}.") from None

    def append(self, rows: pd.DataFrame, columns: Sequence[str]) -> None:
        """Append the cells of these columns, row by row; rows that do not fit into a whole file are left out."""
        content = bytearray()
        for cells in zip(*(rows[name].tolist() for name in columns)):
            line = json.dumps(dict(zip(columns, cells))).encode() + b"\n"
            if len(content) + len(line) > self.size:
                break
            content += line
        if not content:
            return
        with self._locked() as file:
            if os.fstat(file).st_size + len(content) <= self.size:
                self._write(file, bytes(content))
                return
            self.path.replace(self._older())
            with self._locked() as new_file:  # the old one stays locked: nobody renames the new one away
                self._write(new_file, bytes(content))

    def _older(self) -> Path:
        return self.path.with_name(f"{self.path.name}.1")

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        """Open and lock the file that has the name now; another process may rename it while this one waits."""
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)  # readable by its owner alone
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                if self._is_current(file):
                    yield file
                    return
            finally:
                os.close(file)

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), self.path.stat())
        except FileNotFoundError:
            return False

    @staticmethod
    def _write(file: int, content: bytes) -> None:
        """Write all of it. A line that a killed process left unfinished is ended first."""
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            content = b"\n" + content
        while content:
            content = content[os.write(file, content) :]


def read(path: Path, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield the rows of a log in parts. Lines that are no rows of these columns are left out, with a warning."""
    bad = 0
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            while lines := list(islice(_lines(file), ROWS)):
                rows = [row for row in map(_row, lines) if row is not None and set(columns) <= set(row)]
                bad += len(lines) - len(rows)
                if rows:
                    cells = [[row[name] for name in columns] for row in rows]
                    yield pd.DataFrame(cells, columns=pd.Index(columns, dtype=object), dtype=object)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file.") from None
    if bad:
        log.warning("%s: %d lines are not rows of this model, and were left out.", path, bad)


def _lines(file: Any) -> Iterator[str]:
    while line := file.readline(LONGEST_LINE):
        if line.strip():
            yield line


def _row(line: str) -> dict[str, Any] | None:
    """Return the cells of a line; None if it is not an object of single values."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or any(isinstance(cell, (list, dict)) for cell in row.values()):
        return None
    return row
