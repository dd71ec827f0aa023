"""Files appear whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# It can be read only by setting it, for all threads: once.
UMASK = os.umask(0)
os.umask(UMASK)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; rename it onto `path` when the block ends well, else remove it.

    The name is unique, so two processes that write the same file do not meet, and the last one wins.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.chmod(0o666 & ~UMASK)  # mkstemp gives 0600; this is what an ordinary file has
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any, infinite: bool = False) -> None:
    """`infinite`: it has settings, and one of them may be .inf. Elsewhere that is a mistake, and no JSON for others."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=infinite) + "\n")
