"""A git clone in miniature: the pipeline, one small set as a file of the user's own, quick models."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from tests.support import copies, tiny

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
COPIED = (
    "pipeline",
    "ldep",
    "own_models",
    ".dvc/config",
    ".dvc/.gitignore",
    ".dvcignore",
    ".gitignore",
    "dvc.yaml",
)


def make(folder: Path, **sections: Any) -> Path:
    copies.copy(COPIED, folder)
    tiny.prepare(folder)
    (folder / "data/own").mkdir()
    pd.read_parquet(folder / "data/imputed/tiny.parquet").to_csv(folder / "data/own/tiny.csv", index=False)
    for name in ("imputed", "folds"):
        shutil.rmtree(folder / "data" / name)
    whole = yaml.safe_load((ROOT / "params.yaml").read_text())  # every key that dvc.yaml names
    small = tiny.values(
        own_data={"tiny": {"path": "data/own/tiny.csv", "target": "label"}},
        data={"source": "offline"},
        split={"folds": 3, "seed": 1},
        tracking={"enabled": True, "experiment": "suite"},
        execution={"seed": 0, "n_jobs": 1},
        **sections,
    )
    (folder / "params.yaml").write_text(yaml.safe_dump({**whole, **small}, sort_keys=False))
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "start")
    return folder


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def start(folder: Path, *command: str, **environment: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW", "LDEP"))}
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return subprocess.Popen(
        [str(BIN / command[0]), *command[1:]],
        cwd=folder,
        env={**kept, "PATH": path, "PYTHONPATH": copies.on_path(folder), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(folder: Path, *command: str, **environment: str) -> tuple[int, str]:
    """Exit code, and all that was said."""
    process = start(folder, *command, **environment)
    said, _ = process.communicate()
    return process.returncode, said
