"""The store of finished work: records and files under the digest of everything that they depend on.

What is in the store is not computed again. A record or file that is damaged counts as missing, so it is computed again
and replaced. The store lies outside DVC's outputs, which DVC removes before a stage runs. Deleting it costs only time.

Nothing in the store is ever unpickled. A fitted pipeline is a skops file, and decision values are a plain array.
"""

from __future__ import annotations

import hashlib
import io
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ldep_pipeline.common.digests import file_digest, seal, unseal
from ldep_pipeline.common.files import replacing
from ldep_pipeline.fitting.fit import FitResult

log = logging.getLogger(__name__)
DECISIONS, MODEL = ".npy", ".skops"
NO_FILES: Mapping[str, bytes] = MappingProxyType({})


class Store:
    """JSON records by key, each with files beside it. Writing is atomic; several processes may share a store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, key: str) -> dict[str, Any] | None:
        """The record, if it and all its files are as they were written; otherwise None."""
        path = self._path(key)
        if not path.exists():
            return None  # never computed
        try:
            record, files = unseal(path, key)
            if all(file_digest(self._path(key, suffix)) == checksum for suffix, checksum in files.items()):
                return record
        except (OSError, ValueError):
            pass
        log.warning("%s or a file beside it is damaged; this work is done again.", path)
        return None

    def put(self, key: str, record: dict[str, Any], files: Mapping[str, bytes] = NO_FILES) -> None:
        """Store a record, and files by their suffix. The record comes last: with it the entry is complete."""
        for suffix, content in files.items():
            self._clear(self._path(key, suffix))
            with replacing(self._path(key, suffix)) as part:
                part.write_bytes(content)
        checksums = {suffix: hashlib.sha256(content).hexdigest() for suffix, content in files.items()}
        self._clear(self._path(key))
        seal(self._path(key), key, record, checksums)

    def read_file(self, key: str, suffix: str) -> bytes | None:
        """A file of a record that `get` returned; None if the record has no such file."""
        path = self._path(key, suffix)
        return path.read_bytes() if path.is_file() else None

    def put_fit(self, key: str, result: FitResult) -> None:
        """Store a successful fit."""
        files = {}
        if result.decisions is not None:
            files[DECISIONS] = _array_bytes(result.decisions)
        if result.pipeline is not None:
            files[MODEL] = result.pipeline
        self.put(key, result.record, files)

    def get_fit(self, key: str) -> FitResult | None:
        """A stored fit without its pipeline, or None."""
        record = self.get(key)
        if record is None:
            return None
        content = self.read_file(key, DECISIONS)
        if content is None:
            return FitResult(record)
        try:
            return FitResult(record, _array(content))
        except (ValueError, EOFError) as error:
            log.warning("the decision values of fit %s are no array of numbers (%s); it is done again.", key, error)
            return None

    def pipeline_of(self, key: str) -> bytes | None:
        """The skops file of the pipeline that a fit has fitted, if it was kept."""
        return self.read_file(key, MODEL)

    @staticmethod
    def _clear(path: Path) -> None:
        """Remove a folder that stands in the place of a file: it cannot be replaced by one."""
        if path.is_dir():
            shutil.rmtree(path)

    def _path(self, key: str, suffix: str = ".json") -> Path:
        return self.folder / key[:2] / f"{key}{suffix}"


def _array(content: bytes) -> np.ndarray:
    """Read numbers for each row; ValueError for anything else, such as pickled objects."""
    values = np.load(io.BytesIO(content), allow_pickle=False)
    if values.ndim == 0 or values.dtype.kind != "f":
        raise ValueError(f"{values.ndim} dimensions of {values.dtype}")
    return values


def _array_bytes(values: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()
