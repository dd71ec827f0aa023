"""Digests of values and files: the same content gives the same digest in every process and on every machine."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def digest(*values: Any) -> str:
    """sha256 of plain values, the same in every process."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def file_digest(path: Path, algorithm: str = "sha256") -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()
