"""A stage ends when the `dvc` process that started it has died.

Without this, a `dvc repro` that is terminated or killed leaves its stage running, and the next one waits for it.
"""

from __future__ import annotations

import os
import signal
import threading
import time

INTERVAL = 0.5  # seconds between two looks at the parent


def end_with_dvc() -> None:
    """In a stage of DVC: end this process by SIGTERM as soon as its parent has changed. Elsewhere: do nothing."""
    if "DVC_STAGE" in os.environ:
        threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(INTERVAL)
    os.kill(os.getpid(), signal.SIGTERM)
