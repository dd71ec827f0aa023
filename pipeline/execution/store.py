"""Finished work, kept under the digest of all it depends on: what is there need not be done again.

The store stands outside DVC's outputs, which DVC removes before a stage runs. Removing it costs time, nothing else.
"""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.common.files import replacing, write_text

log = logging.getLogger(__name__)


class Store:
    """JSON records, and files, by key. Writing is atomic; several processes may share a store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, key: str) -> dict[str, Any] | None:
        try:
            return json.loads(self._path(key).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            log.warning("%s cannot be read (%s); the work is done again.", self._path(key), error)
            return None

    def put(self, key: str, record: dict[str, Any]) -> None:
        write_text(self._path(key), json.dumps(record))  # in Python's dialect: a setting may be .inf

    def get_array(self, key: str) -> np.ndarray | None:
        try:
            return np.load(self.file(key, ".npy"), allow_pickle=False)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, EOFError) as error:
            log.warning("%s cannot be read (%s); the work is done again.", self.file(key, ".npy"), error)
            return None

    def put_array(self, key: str, values: np.ndarray) -> None:
        content = io.BytesIO()
        np.save(content, values, allow_pickle=False)
        self.put_bytes(key, ".npy", content.getvalue())

    def file(self, key: str, suffix: str) -> Path:
        return self._path(key).with_suffix(suffix)

    def put_bytes(self, key: str, suffix: str, content: bytes) -> None:
        with replacing(self.file(key, suffix)) as part:
            part.write_bytes(content)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"
