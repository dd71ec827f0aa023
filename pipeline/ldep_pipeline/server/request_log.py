"""A log of the rows that a server was asked about: one JSON object per line and row, in a file of bounded size.

A line has these fields:

- `time`: when the request was answered, in UTC, as ISO 8601 writes it;
- `version`: which version of the model answered;
- `row`: the raw cells in the columns of the model;
- `id`: the cell of the column that identifies the row, if the server logs one; null if the request did not have it;
- `answer`: what the model answered, if the server logs answers: `class` and, except for counterfactuals, `decision` and
  `probability`, as the output `scores` has them.

Several processes append to it. Each holds the file's lock while it writes, so that lines are never mixed, and the
process that finds the file full renames it to FILE.1 and begins a new one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
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
class Entry:
    """A line of the log. `id` and `answer` are None where the server did not log them."""

    row: dict[str, Any]
    time: str
    version: str
    id: Any = None
    answer: dict[str, Any] | None = None


@dataclass(frozen=True)
class RequestLog:
    """A log file, the size in bytes at which it is renamed, and what it has beside the rows.

    `id` is the column whose cell identifies a row; with `answers` the log has what the model answered.
    """

    path: Path
    size: int
    id: str | None = None
    answers: bool = False

    def check(self) -> None:
        """Raise UserError if rows cannot be appended."""
        if self.path.suffix != SUFFIX:
            raise UserError(f"{self.path}: the name of a log of requests must end with {SUFFIX}.")
        try:
            with self._locked():
                pass
        except OSError as error:
            raise UserError(f"{self.path} cannot be written: {error.strerror}.") from None

    def append(
        self, rows: pd.DataFrame, columns: Sequence[str], version: str, answers: Iterable[dict[str, Any]] = ()
    ) -> None:
        """Append the cells of these columns, row by row; rows that do not fit into a whole file are left out."""
        start = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "version": version}
        ids = rows[self.id].tolist() if self.id is not None and self.id in rows else [None] * len(rows)
        logged, content = list(answers), bytearray()
        for number, cells in enumerate(zip(*(rows[name].tolist() for name in columns))):
            fields: dict[str, Any] = {**start, "row": dict(zip(columns, cells))}
            if self.id is not None:
                fields["id"] = ids[number]
            if self.answers:
                fields["answer"] = logged[number]
            line = json.dumps(fields).encode() + b"\n"
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


def entries(path: Path, columns: Sequence[str]) -> Iterator[list[Entry]]:
    """Yield the lines of a log in parts. Lines without these columns are left out, with a warning."""
    bad = 0
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            while lines := list(islice(_lines(file), ROWS)):
                found = [entry for entry in map(_entry, lines) if entry is not None and set(columns) <= set(entry.row)]
                bad += len(lines) - len(found)
                if found:
                    yield found
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file.") from None
    if bad:
        log.warning("%s: %d lines are not rows of this model, and were left out.", path, bad)


def read(path: Path, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield the rows of a log as frames of these columns."""
    for part in entries(path, columns):
        cells = [[entry.row[name] for name in columns] for entry in part]
        yield pd.DataFrame(cells, columns=pd.Index(columns, dtype=object), dtype=object)


def _lines(file: Any) -> Iterator[str]:
    while line := file.readline(LONGEST_LINE):
        if line.strip():
            yield line


def _entry(line: str) -> Entry | None:
    """Return what a line says; None if the server did not write it."""
    try:
        fields = json.loads(line)
        entry = Entry(**fields)
    except (ValueError, RecursionError, TypeError):
        return None
    values = [*entry.row.values(), entry.id] if isinstance(entry.row, dict) else [[]]
    if any(isinstance(value, (list, dict)) for value in values):
        return None
    if not isinstance(entry.time, str) or not isinstance(entry.version, str):
        return None
    return entry if entry.answer is None or isinstance(entry.answer, dict) else None
