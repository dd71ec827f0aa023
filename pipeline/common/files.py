"""Atomic writing: a file appears complete or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# The umask can only be read by setting it, which affects all threads, so it is read once.
UMASK = os.umask(0)
os.umask(UMASK)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`; rename it to `path` if the block succeeds, and remove it otherwise.

    The temporary name is unique, so two processes can write the same file; the last one wins.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.chmod(0o666 & ~UMASK)  # mkstemp creates files with 0600
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any, infinite: bool = False) -> None:
    """Write JSON. `infinite` allows .inf, which a setting may be but which is not valid JSON for other programs."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=infinite) + "\n")
