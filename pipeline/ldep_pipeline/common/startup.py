"""What every command does first: it settles on the kernels of NumPy, closes DVC's cache, and ends when `dvc` does.

OpenBLAS and NumPy choose their code by the processor, and code for AVX-512 adds in another order than code for AVX2.
The last bits of a sum then differ, and a solver that follows them may end in another minimum. So both are told to use
their code for AVX2, unless the user's environment says otherwise: the same commit gives the same digits on every x86-64
processor with AVX2. They read these variables when they are loaded.

Without the second part, a `dvc repro` that is terminated or killed leaves its stage running, and the next one waits for
it.
"""

from __future__ import annotations

import os
import signal
import stat
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

CPU_INFO = Path("/proc/cpuinfo")
VARIABLES = {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}
INTERVAL = 0.5  # seconds between two looks at the ancestors


def use_common_kernels(cpu_info: Path = CPU_INFO) -> None:
    """Set the variables for this process and its children, if the processor has AVX2; before NumPy is loaded."""
    if _has_avx2(cpu_info):
        for name, value in VARIABLES.items():
            os.environ.setdefault(name, value)


def _has_avx2(cpu_info: Path) -> bool:
    # Another operating system, or another kind of processor, has no such file or no such flag.
    return cpu_info.is_file() and " avx2 " in cpu_info.read_text()


def close_dvc_cache(project: Path = Path()) -> None:
    """Close the folder from which DVC unpickles its cache to other users, in a project that has one.

    DVC makes it open to everybody. It is made here if it is not there yet.
    """
    folder = project / ".ldep/dvc"
    if not (project / ".dvc/config").is_file() or folder.is_symlink():
        return
    folder.mkdir(parents=True, exist_ok=True)
    mode = folder.stat()
    if stat.S_IMODE(mode.st_mode) & 0o077 and mode.st_uid == os.geteuid():
        folder.chmod(0o700)


def end_with_dvc() -> None:
    """In a stage of DVC: end this process by SIGTERM as soon as `dvc` has died. Elsewhere: do nothing."""
    if "DVC_STAGE" in os.environ:
        threading.Thread(target=_watch, args=(_lineage(os.environ["DVC_STAGE"]),), daemon=True).start()


def _lineage(stage: str) -> list[psutil.Process]:
    """Return this process, the shell between it and `dvc` if there is one, and `dvc`.

    Depending on the shell and on the stage's command, the shell remains as a process of its own, which outlives `dvc`.
    `dvc` is the first ancestor that does not have the name of this stage in its environment.
    """
    import psutil  # not of the library: without it `ldep --help` still works

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
    import psutil  # not of the library: without it `ldep --help` still works

    try:
        return all(child.ppid() == parent.pid for child, parent in pairwise(lineage))
    except psutil.NoSuchProcess:
        return False
