"""Ten million rows that are never all in memory: is the streamed ℓ-DEP as good as one that is fitted in memory?

A random ℓ-DEP with r1 = r2 = 4 decides the classes, with noise on its decision value, so that the best boundary is
known: tau = 0. Each way of training runs in a separate process, which reports its CPU seconds and its peak memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from benchmarks.report import Report
from ldep import LDEPClassifier, StreamingLDEPClassifier

ROWS, FEATURES, BATCH = 10_000_000, 8, 100_000
TEST = 1_000_000
SETTINGS = {"r1": 5, "r2": 5, "loss": "hinge", "alpha": "scale", "n_init": 1, "random_state": 0}
WAYS = {
    "memory": "LDEPClassifier.fit on all rows at once",
    "streamed": "StreamingLDEPClassifier.fit_batches on the Parquet file",
    "once": "StreamingLDEPClassifier.partial_fit, each row seen once",
    "sample": "LDEPClassifier.fit on the first 100,000 rows",
}


def truth(X: np.ndarray) -> np.ndarray:
    """Return tau of the known boundary."""
    rng = np.random.default_rng(1)
    return (X @ rng.normal(size=(X.shape[1], 4))).max(axis=1) - (X @ rng.normal(size=(X.shape[1], 4))).max(axis=1)


def rows(number: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of one batch, and their classes."""
    rng = np.random.default_rng([2, number])
    X = rng.normal(size=(count, FEATURES))
    return X, (truth(X) + rng.normal(size=count) >= 0).astype(np.int8)


def write(path: Path) -> None:
    names = [f"x{k}" for k in range(FEATURES)]
    writer = None
    for number in range(ROWS // BATCH):
        X, y = rows(number, BATCH)
        table = pa.table([*X.T, y], names=[*names, "label"])
        # Random digits cannot be compressed: trying to would only cost time.
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema, compression="none", use_dictionary=False)
        writer.write_table(table)
    if writer is not None:
        writer.close()


class Batches:
    """The batches of a Parquet file, read from disk in every pass."""

    def __init__(self, path: Path):
        self.path, self.passes = path, 0

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        self.passes += 1
        for batch in pyarrow.parquet.ParquetFile(self.path, pre_buffer=False).iter_batches(batch_size=BATCH):
            yield np.column_stack(batch.columns[:-1]), batch.column(FEATURES).to_numpy()


def measure(way: str, path: Path) -> dict:
    """Train in one way, in this process, and test the model."""
    batches = Batches(path)
    cpu_start, wall_start = time.process_time(), time.perf_counter()
    if way == "streamed":
        model = StreamingLDEPClassifier(**SETTINGS).fit_batches(batches)
    elif way == "once":
        model = StreamingLDEPClassifier(**SETTINGS)
        for X, y in batches:
            model.partial_fit(X, y, classes=[0, 1])
    elif way == "sample":
        model = LDEPClassifier(**SETTINGS).fit(*next(iter(batches)))
    else:
        X, y = np.empty((ROWS, FEATURES)), np.empty(ROWS, dtype=np.int8)
        for number, (some, labels) in enumerate(batches):
            X[number * BATCH : (number + 1) * BATCH], y[number * BATCH : (number + 1) * BATCH] = some, labels
        model = LDEPClassifier(**SETTINGS).fit(X, y)
    cpu, wall = time.process_time() - cpu_start, time.perf_counter() - wall_start
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    right = agree = hinge = 0.0
    for number in range(TEST // BATCH):
        X, y = rows(ROWS // BATCH + number, BATCH)
        tau = model.decision_function(X)
        right += np.sum((tau >= 0) == y)
        agree += np.sum((tau >= 0) == (truth(X) >= 0))
        hinge += np.maximum(0.0, 1.0 - (2.0 * y - 1.0) * tau).sum()
    return {
        "way": way,
        "accuracy": 100 * right / TEST,
        "agreement_with_the_boundary": 100 * agree / TEST,
        "test_hinge": hinge / TEST,
        "cpu_seconds": cpu,
        "wall_seconds": wall,
        "peak_mb": peak,
        "passes": batches.passes,
    }


def run() -> Report:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "rows.parquet")
        write(path)
        size = path.stat().st_size / 2**20
        measured = []
        for way in WAYS:
            command = [sys.executable, "-m", __name__, way, str(path)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            measured.append(json.loads(done.stdout))
            print(measured[-1], file=sys.stderr)
    return compare(measured, size)


def compare(measured: list[dict], size: float) -> Report:
    """Make the report from the measurements of each way and the size of the file in MB."""
    report = Report("streaming", "Ten million rows that are never all in memory")
    best = 100 * np.mean(
        np.concatenate(
            [(truth(X) >= 0) == y for X, y in (rows(ROWS // BATCH + k, BATCH) for k in range(TEST // BATCH))]
        )
    )
    table = pd.DataFrame(measured).set_index("way")
    loss = table.loc["memory", "accuracy"] - table.loc["streamed", "accuracy"]
    peak = table.loc["streamed", "peak_mb"]
    report.claim("accuracy lost compared with the fit in memory, points", loss, "<= 0.2", loss <= 0.2)
    report.claim("peak memory of the streamed fit, MB", peak, "<= 600", peak <= 600)
    report.note(
        f"Training: {ROWS:,} rows with {FEATURES} features, {size:.0f} MB as Parquet. Test: {TEST:,} other rows. "
        f"Settings: {SETTINGS}. Because of the noise, even the known boundary has an accuracy of only {best:.3f} %."
    )
    report.note("\n".join(f"- `{way}`: {text}." for way, text in WAYS.items()))
    report.note("Some 150 MB of each peak are Python with numpy, scikit-learn and pyarrow.")
    report.table("ways", table.reset_index())
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("path", type=Path)
    args = parser.parse_args()
    print(json.dumps(measure(args.way, args.path)))
