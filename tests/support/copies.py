"""Copies of parts of the project, whose code runs in place of the installed one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("ldep", "pipeline")
WHEEL_SOURCES = (*SOURCES, "pyproject.toml", "README.md", "LICENSE")


def copy(names: Iterable[str], folder: Path) -> None:
    """Copy files and folders of the project into another folder, without compiled code."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)


def on_path(folder: Path) -> str:
    """The PYTHONPATH on which the two packages of a copy are found."""
    return os.pathsep.join([str(folder), str(folder / "pipeline")])
