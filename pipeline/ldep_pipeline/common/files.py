"""Files that several processes share: complete or absent, locked while in use, and with names that are safe."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)
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


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder next to `target` that replaces it if the block succeeds, and is removed otherwise."""
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        scratch.chmod(0o755)
        yield scratch
        shutil.rmtree(target, ignore_errors=True)
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any, infinite: bool = False) -> None:
    """Write JSON. `infinite` allows .inf, which a setting may be but which is not valid JSON for other programs."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=infinite) + "\n")


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold a lock for work that only one process may do at a time; if another process has it, say so and wait.

    The kernel releases the lock of a process that dies.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.warning("another process is working on %s; waiting for it to finish.", what)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def safe_name(name: str) -> str:
    """Return a name that becomes part of paths and commands; ValueError if it could
    leave a folder or have a special meaning in a shell."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name) or len(name) > 100:
        raise ValueError(
            "a name has letters, digits, '-', '_' and '.', "
            "starts with a letter, a digit or '_', and has at most 100 characters"
        )
    return name
