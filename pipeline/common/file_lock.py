"""One process at a time for a piece of work. The kernel frees the lock of a process that dies, however it dies."""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold the lock; wait for another process that does (a `dvc repro` that was killed leaves its stage running)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.warning("another process is at %s; waiting for it to end.", what)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
