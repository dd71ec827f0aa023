"""The commit, library versions and machine behind a measurement."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib import metadata
from typing import Any

from threadpoolctl import threadpool_info

CODE = ("ldep", "pipeline", "benchmarks")
PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "openml", "ldep")
OF_PIPELINES = ("mlflow", "numpy", "pandas", "scikit-learn", "scipy", "skops", "threadpoolctl")


def describe() -> str:
    """Return a sentence: commit, versions, size of the machine, and the kernels that decide the last bits of sums."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    return f"Commit {commit()}, Python {platform.python_version()}, {versions}, {_size()}, {kernels()}."


@cache
def requirements() -> tuple[str, ...]:
    """The packages that a stored pipeline needs, pinned to the installed versions, in pip's form.

    MLflow would need 20 seconds per model to find them.
    """
    return tuple(f"{name}=={metadata.version(name)}" for name in OF_PIPELINES)


def kernels() -> str:
    """Return the name of the processor family whose kernels the BLAS library has chosen; docs/results.md."""
    found = {f"{blas['internal_api']} kernels for {blas['architecture']}" for blas in _blas_libraries()}
    return " and ".join(sorted(found)) or "unknown BLAS kernels"


def _blas_libraries() -> list[dict[str, Any]]:
    return [library for library in threadpool_info() if library.get("architecture")]


def commit() -> str:
    """Return the short commit of the working folder, with a plus if it has changes, or `unknown`."""
    try:
        head = _git("rev-parse", "--short", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--untracked-files=no", "--", *CODE) else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _size() -> str:
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return f"{os.cpu_count()} cores, {pages * size / 2**30:.0f} GB of memory"
