"""A lock for work that only one process may do at a time. The kernel releases the lock of a process that dies."""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold the lock; if another process has it, say so and wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.warning("another process is working on %s; waiting for it to finish.", what)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
