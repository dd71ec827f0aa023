"""Announced and real times of training on ten generated tables, with the models of the standard suite.

Each table goes through `ldep new` and the stages up to `train`, as a user's file does, each in a process of its own.
The time that `ldep new` announces is compared with that of the whole command `ldep train`. Tuning has few trials, and
runs are not tracked.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from tqdm import tqdm

from benchmarks.report import Report

# rows, features
SIZES = (
    *((300, 5), (500, 60), (800, 10), (1_200, 30), (2_000, 20)),
    *((3_000, 8), (5_000, 15), (8_000, 60), (12_000, 10), (20_000, 30)),
)
SETTINGS = ("classifiers.ldep.trials=5", "tracking.enabled=false")
ANNOUNCED = re.compile(r"about (?:(\d+) h )?(?:(\d+) min ?)?(?:(\d+) s)?")
FACTOR = 2.0


def seconds_of(text: str) -> float:
    """The seconds of the first time span after "about"."""
    found = ANNOUNCED.search(text)
    if found is None:
        raise ValueError(f"no time is announced in: {text}")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(3600 * hours + 60 * minutes + seconds)


def table(rows: int, features: int, seed: int) -> pd.DataFrame:
    X, y = make_classification(
        rows, features, n_informative=max(3, features // 3), n_redundant=0, flip_y=0.1, random_state=seed
    )
    frame = pd.DataFrame(X.round(4), columns=[f"x{k}" for k in range(features)])
    return frame.assign(label=np.where(y == 1, "yes", "no"))


def _ldep(folder: Path, *arguments: str) -> list[tuple[float, str]]:
    """The lines that a command writes, each with the seconds since it was started."""
    command = [sys.executable, "-c", "from ldep_pipeline.commands.main import main; raise SystemExit(main())"]
    started, lines = time.perf_counter(), []
    with subprocess.Popen(
        [*command, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append((time.perf_counter() - started, line.strip()))
    if process.returncode:
        raise RuntimeError(f"ldep {' '.join(arguments)} failed: {lines[-1][1] if lines else ''}")
    return [*lines, (time.perf_counter() - started, "")]


def measured(rows: int, features: int, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy("params.yaml", folder)
        table(rows, features, seed).to_csv(folder / "table.csv", index=False)
        _ldep(folder, "set", *SETTINGS)
        new = _ldep(folder, "new", "own", "table.csv", "--target", "label")
        (models,) = (line for _, line in new if line.startswith("models: "))
        (announced,) = (line for _, line in new if line.startswith("training takes about"))
        for stage in ("fetch", "impute", "split"):
            _ldep(folder, stage)
        train = _ldep(folder, "train", "own")
    return {
        "rows": rows,
        "features": features,
        "models": models.removeprefix("models: ").partition(" (")[0].count(",") + 1,
        "new_seconds": new[-1][0],
        "announced": seconds_of(announced),
        "train_seconds": train[-1][0],
    }


def run() -> Report:
    report = Report("estimates", "Announced and real times of training")
    rows = [measured(*size, seed) for seed, size in enumerate(tqdm(SIZES, desc="estimates", disable=None))]
    frame = pd.DataFrame(rows)
    # A second is the unit in which times are announced.
    frame["ratio"] = frame["train_seconds"] / frame["announced"].clip(lower=1)
    report.table("tables", frame)
    within = int(frame["ratio"].between(1 / FACTOR, FACTOR).sum())
    report.claim(f"of {len(frame)} announced times, within a factor of 2", within, "≥ 9", within >= 9)
    return report
