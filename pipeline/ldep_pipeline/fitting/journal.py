"""The journal of an Optuna study: a file with one JSON line per change, each with a checksum.

A checksum covers its line, all lines before it, and the name of the file, which is the key of the study. When a journal
is opened, everything from the first damaged line on is dropped, as if the writer had been killed there: the study then
repeats that work. Optuna's own file backend fails on such a file every time, and its lock costs more than the sampler
and outlives a kill. No lock is needed here: a study has a single writer. Optuna's file backend can still read the file,
as it ignores the checksums.

Each line is handed to the operating system at once, so a killed process loses none. Lines are forced to the disk only
when a trial finishes: after a power cut at most the trial that was running is lost, and the study repeats it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any

from optuna.storages.journal import BaseJournalBackend

log = logging.getLogger(__name__)
CHECKSUM = "checksum"
DIGITS = 16
TRIAL_FINISHED = "datetime_complete"  # a key of the entry with which Optuna finishes a trial


class Journal(BaseJournalBackend):
    """A journal file with a single writer; it repairs the file when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        content = path.read_bytes() if path.exists() else b""
        self._entries: list[dict[str, Any]] = []
        self._checksum = path.stem  # the study's key, so that the journal of another study does not count as this one
        intact = 0
        for line in content.splitlines(keepends=True):
            entry = self._checked(line)
            if entry is None:
                break
            self._entries.append(entry)
            intact += len(line)
        if intact < len(content):
            log.warning("%s is damaged from line %d on; that part is computed again.", path, len(self._entries) + 1)
            with path.open("r+b") as file:
                file.truncate(intact)

    def read_logs(self, log_number_from: int) -> list[dict[str, Any]]:
        return self._entries[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        lines = b""
        for entry in logs:
            text = _text(entry)
            self._checksum = _chained(self._checksum, text)
            lines += _text({**entry, CHECKSUM: self._checksum}).encode() + b"\n"
            self._entries.append(json.loads(text))
        with self.path.open("ab") as file:
            file.write(lines)
            if any(TRIAL_FINISHED in entry for entry in logs):
                file.flush()
                os.fsync(file.fileno())

    def _checked(self, line: bytes) -> dict[str, Any] | None:
        """The entry of a line, or None if the line is incomplete or not as it was written."""
        try:
            entry = json.loads(line)
            checksum = entry.pop(CHECKSUM)
            expected = _chained(self._checksum, _text(entry))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        if not line.endswith(b"\n") or checksum != expected:
            return None
        self._checksum = expected
        return entry


def _text(entry: dict[str, Any]) -> str:
    return json.dumps(entry, separators=(",", ":"))


def _chained(previous: str, text: str) -> str:
    return hashlib.sha256(f"{previous}{text}".encode()).hexdigest()[:DIGITS]
