"""A stage ends when the `dvc` process that started it has died.

Without this, a `dvc repro` that is terminated or killed leaves its stage running, and the next one waits for it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

INTERVAL = 0.5  # seconds between two looks at the ancestors


def end_with_dvc() -> None:
    """In a stage of DVC: end this process by SIGTERM as soon as `dvc` has died. Elsewhere: do nothing."""
    if "DVC_STAGE" in os.environ:
        threading.Thread(target=_watch, args=(_lineage(os.environ["DVC_STAGE"]),), daemon=True).start()


def _lineage(stage: str) -> list[psutil.Process]:
    """Return this process, the shell between it and `dvc` if there is one, and `dvc`.

    Depending on the shell and on the stage's command, the shell remains as a process of its own, which outlives `dvc`.
    `dvc` is the first ancestor that does not have the name of this stage in its environment.
    """
    import psutil  # of the extra `pipeline`: without it `ldep --help` still works

    lineage = [psutil.Process()]
    for ancestor in lineage[0].parents():
        lineage.append(ancestor)
        try:
            if ancestor.environ().get("DVC_STAGE") != stage:
                break
        except psutil.Error:  # the process of another user: not a shell of DVC's
            break
    return lineage


def _watch(lineage: list[psutil.Process]) -> None:
    while _is_intact(lineage):
        time.sleep(INTERVAL)
    os.kill(os.getpid(), signal.SIGTERM)


def _is_intact(lineage: list[psutil.Process]) -> bool:
    """Whether each process is still the child of the next: the children of a process that dies get another parent."""
    import psutil  # of the extra `pipeline`: without it `ldep --help` still works

    try:
        return all(child.ppid() == parent.pid for child, parent in pairwise(lineage))
    except psutil.NoSuchProcess:
        return False
