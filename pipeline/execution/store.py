"""The store of finished work: records and files under the digest of everything that they depend on.

What is in the store is not computed again. A record or file that is damaged counts as missing, so it is computed again
and replaced. The store lies outside DVC's outputs, which DVC removes before a stage runs. Deleting it costs only time.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pipeline.common.digests import digest, file_digest
from pipeline.common.files import replacing, write_text

log = logging.getLogger(__name__)
NO_FILES: Mapping[str, bytes] = MappingProxyType({})


class Store:
    """JSON records by key, each with files beside it. Writing is atomic; several processes may share a store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, key: str) -> dict[str, Any] | None:
        """The record, if it and all its files are as they were written; otherwise None."""
        path = self._path(key)
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
            record, files = entry["record"], entry["files"]
            intact = entry["checksum"] == digest(key, record, files) and all(
                file_digest(self._path(key, suffix)) == checksum for suffix, checksum in files.items()
            )
        except FileNotFoundError as error:
            if error.filename == str(path):
                return None  # never computed
            intact = False
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            intact = False
        if not intact:
            log.warning("%s or a file beside it is damaged; this work is done again.", path)
            return None
        return record

    def put(self, key: str, record: dict[str, Any], files: Mapping[str, bytes] = NO_FILES) -> None:
        """Store a record, and files by their suffix. The record comes last: with it the entry is complete."""
        for suffix, content in files.items():
            with replacing(self._path(key, suffix)) as part:
                part.write_bytes(content)
        checksums = {suffix: hashlib.sha256(content).hexdigest() for suffix, content in files.items()}
        entry = {"checksum": digest(key, record, checksums), "files": checksums, "record": record}
        write_text(self._path(key), json.dumps(entry))  # in Python's dialect of JSON: a setting may be infinite

    def read_file(self, key: str, suffix: str) -> bytes | None:
        """A file of a record that `get` returned; None if the record has no such file."""
        path = self._path(key, suffix)
        return path.read_bytes() if path.is_file() else None

    def _path(self, key: str, suffix: str = ".json") -> Path:
        return self.folder / key[:2] / f"{key}{suffix}"
