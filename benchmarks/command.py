"""Runs the command `ldep` in a separate folder, with the project's params.yaml, and measures its time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from benchmarks.timing import ended_children
from ldep_pipeline.config import paths

WORKERS = "2"


def write_params(folder: Path, section: str, values: dict[str, Any]) -> None:
    """Write the project's parameters into the folder, with other values in one section."""
    params = yaml.safe_load(paths.PARAMS.read_text(encoding="utf-8"))
    params[section] |= values
    folder.mkdir(exist_ok=True)
    (folder / paths.PARAMS).write_text(yaml.safe_dump(params), encoding="utf-8")


def prepare(folder: Path) -> None:
    """Run the stages before training."""
    for stage in ("fetch", "impute", "split"):
        ldep(folder, stage)


def ldep(folder: Path, *arguments: str) -> tuple[float, float]:
    """Run a subcommand; return its wall and CPU seconds, including those of its workers."""
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    cpu_before, start = ended_children(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "ldep_pipeline.commands.main", *arguments],
        cwd=folder,
        env={**environment, "LDEP_N_JOBS": WORKERS},
        check=True,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - start, ended_children() - cpu_before
