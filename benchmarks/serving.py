"""Latency against LogisticRegression behind the same server, mixed load from 8 clients, and batch scoring.

LDEP_LOAD_SECONDS sets the length of the load (600), LDEP_BATCH_ROWS the rows of the batch (10 million).
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import requests
import yaml
from mlflow.models import infer_signature
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.report import Report
from ldep_pipeline.commands.main import main
from ldep_pipeline.common import machine
from tests.support.servers import mlflow_serving, serving

NAME = "banana"
CHAMPION, BASELINE = f"models:/ldep-{NAME}@champion", "models:/logistic@champion"
REQUESTS, WARM = 1000, 100
JSON = {"Content-Type": "application/json"}
SETTINGS = {"alpha": 1.0}


def run() -> Report:
    seconds, rows = int(os.environ.get("LDEP_LOAD_SECONDS", 600)), int(os.environ.get("LDEP_BATCH_ROWS", 10_000_000))
    report = Report("serving", "Serving and batch scoring")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        frame = prepare(folder)
        latency(report, folder, frame)
        load(report, folder, frame, seconds)
        batch(report, folder, frame, rows)
    return report


def prepare(folder: Path) -> pd.DataFrame:
    """Register the ℓ-DEP on banana, and a LogisticRegression pipeline as anybody would; return the raw rows."""
    values = {
        "data": {"source": "offline"},
        "datasets": ["banana"],
        "models": ["ldep"],
        "classifiers": {"ldep": {"class": "ldep.LDEPClassifier", "params": SETTINGS}},
        "tracking": {"models": False},
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(values))
    with contextlib.chdir(folder):
        for stage in ("fetch", "impute", "split", "train", "register"):
            if main([stage]):
                raise SystemExit(f"ldep {stage} failed.")
        raw = pd.read_parquet("data/raw/banana.parquet")
        X, y = raw.iloc[:, :-1], raw.iloc[:, -1].astype(str)
        pipe = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
        info = mlflow.sklearn.log_model(
            pipe,
            name="logistic",
            registered_model_name="logistic",
            signature=infer_signature(X.head(), pipe.predict(X.head())),
            pip_requirements=list(machine.requirements()),
        )
        mlflow.MlflowClient().set_registered_model_alias("logistic", "champion", str(info.registered_model_version))
    return X


def latency(report: Report, folder: Path, frame: pd.DataFrame) -> None:
    """Single rows, one after the other, to both servers in turn, so that both have the same machine."""
    took: dict[str, list[float]] = {"ldep": [], "logistic": []}
    with (
        serving(folder, NAME) as (ours, _),
        mlflow_serving(folder, BASELINE) as (theirs, _),
        requests.Session() as session,
    ):
        for number in range(WARM + REQUESTS):
            row = frame.iloc[[number % len(frame)]]
            body = json.dumps({"dataframe_split": {"columns": list(row.columns), "data": row.to_numpy().tolist()}})
            for name, address in (("ldep", ours), ("logistic", theirs)):
                began = time.perf_counter()
                answer = session.post(f"{address}/invocations", data=body, headers=JSON, timeout=60)
                if number >= WARM:
                    took[name].append(time.perf_counter() - began)
                answer.raise_for_status()
    table = pd.DataFrame(
        {"model": list(took), **{f"p{q}_ms": [1000 * np.percentile(v, q) for v in took.values()] for q in (50, 99)}}
    )
    report.table("latency", table)
    for quantile in ("p50_ms", "p99_ms"):
        ratio = table[quantile][0] / table[quantile][1]
        report.claim(
            f"single-row latency against LogisticRegression, {quantile[:3]}", ratio, "at most 1.2", ratio <= 1.2
        )


def load(report: Report, folder: Path, frame: pd.DataFrame, seconds: int) -> None:
    """8 clients, all formats, one to a hundred rows, with and without explanations."""
    errors, counts = [], [0] * 8
    with serving(folder, NAME) as (address, process):
        server = psutil.Process(process)

        def memory() -> float:
            return sum(p.memory_info().rss for p in [server, *server.children(recursive=True)]) / 2**20

        def client(number: int, until: float) -> None:
            rng = np.random.default_rng(number)
            with requests.Session() as session:
                while time.monotonic() < until:
                    body, headers = mixed(frame, rng)
                    answer = session.post(f"{address}/invocations", data=body, headers=headers, timeout=60)
                    counts[number] += 1
                    if answer.status_code != 200:
                        errors.append(answer.text[:200])

        def during(length: float) -> None:
            until = time.monotonic() + length
            clients = [threading.Thread(target=client, args=(number, until)) for number in range(8)]
            for thread in clients:
                thread.start()
            for thread in clients:
                thread.join()

        during(min(30, seconds / 4))  # its memory then has the size of its work
        before, warm = memory(), sum(counts)
        during(seconds)
        growth = memory() / before - 1
    sent = sum(counts) - warm
    report.table("load", pd.DataFrame([{"seconds": seconds, "requests": sent, "memory_mb": before, "growth": growth}]))
    report.claim(f"errors in {seconds} s of load from 8 clients", len(errors), "0", not errors)
    report.claim("growth of the server's memory", growth, "below 0.05", growth < 0.05)


def mixed(frame: pd.DataFrame, rng: np.random.Generator) -> tuple[bytes, dict[str, str]]:
    rows = frame.iloc[rng.integers(len(frame), size=rng.integers(1, 100))]
    if rng.random() < 0.2:
        return rows.to_csv(index=False).encode(), {"Content-Type": "text/csv"}
    form = rng.choice(["dataframe_split", "dataframe_records", "instances", "inputs"])
    orient = {"dataframe_split": "split", "inputs": "list"}.get(form, "records")
    body = {form: rows.to_dict(orient=orient), "params": {"output": str(rng.choice(["label", "scores", "full"]))}}
    return json.dumps(body).encode(), JSON


IN_MEMORY = """
import sys, time, pandas as pd
from pathlib import Path
from ldep_pipeline.registry import download
frame = pd.read_parquet(sys.argv[2])
model = download.load(sys.argv[1])
best = float("inf")
for _ in range(3):
    began = time.perf_counter()
    model.pipe.predict(frame)
    best = min(best, time.perf_counter() - began)
print(best)
"""
REGISTERED = """
import sys, time, pandas as pd, mlflow
frame = pd.read_parquet(sys.argv[2])
mlflow.set_tracking_uri("sqlite:///mlflow.db")
model = mlflow.pyfunc.load_model(sys.argv[1])
began = time.perf_counter()
model.predict(frame)
print(time.perf_counter() - began)
"""


def batch(report: Report, folder: Path, frame: pd.DataFrame, rows: int) -> None:
    """Rows per second from file to file, and the peak of memory, against `predict` on the whole frame in memory."""
    source = folder / "rows.parquet"
    rng = np.random.default_rng(0)
    with pa.parquet.ParquetWriter(source, pa.Table.from_pandas(frame.head(1), preserve_index=False).schema) as writer:
        for first in range(0, rows, 500_000):
            part = frame.iloc[rng.integers(len(frame), size=min(500_000, rows - first))]
            writer.write_table(pa.Table.from_pandas(part + rng.normal(size=part.shape) * 1e-3, preserve_index=False))
    text = folder / "rows.csv"
    with pa.csv.CSVWriter(text, pa.parquet.ParquetFile(source).schema_arrow.remove_metadata()) as writer:
        for piece in pa.parquet.ParquetFile(source).iter_batches(500_000):
            writer.write(piece.replace_schema_metadata(None))
    done = child(folder, IN_MEMORY, CHAMPION, str(source))
    rates = [{"what": "predict of the pipeline", "rows_per_second": rows / float(done[0]), "peak_mb": done[1]}]
    done = child(folder, REGISTERED, CHAMPION, str(head(source, rows // 10)))
    rates.append(
        {"what": "predict of the registered model", "rows_per_second": rows // 10 / float(done[0]), "peak_mb": done[1]}
    )
    for kind, path in (("parquet", source), ("csv", text)):
        for size in (rows // 10, rows):
            part = path if size == rows else head(path, size)
            took = child(folder, SCORE, CHAMPION, str(part), str(folder / f"out.{kind}"))
            rates.append({"what": f"{kind}, {size} rows", "rows_per_second": size / float(took[0]), "peak_mb": took[1]})
    table = pd.DataFrame(rates)
    report.table("batch", table)
    for kind, line in (("Parquet", 3), ("CSV", 5)):
        for against, what in enumerate(("the scikit-learn pipeline", "the registered model")):
            share = table["rows_per_second"][line] / table["rows_per_second"][against]
            claim = f"rate of batch scoring, {kind}, {rows} rows, by that of {what} in memory"
            report.claim(claim, share, "at least 0.5", share >= 0.5)
        growth = table["peak_mb"][line] / table["peak_mb"][line - 1]
        report.claim(f"peak of memory, {kind}, {rows} rows by a tenth of them", growth, "at most 1.1", growth <= 1.1)


SCORE = """
import sys, time
from pathlib import Path
from ldep_pipeline.commands import score
from ldep_pipeline.registry import download
download.load(sys.argv[1])
began = time.perf_counter()
score.run(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
print(time.perf_counter() - began)
"""


def head(path: Path, rows: int) -> Path:
    part = path.with_stem("head")
    if path.suffix == ".csv":
        with path.open() as source, part.open("w") as target:
            for _ in range(rows + 1):
                target.write(source.readline())
    else:
        file = pa.parquet.ParquetFile(path)
        with pa.parquet.ParquetWriter(part, file.schema_arrow) as writer:
            left = rows
            for piece in file.iter_batches(500_000):
                writer.write_batch(piece.slice(0, left))
                left -= min(left, len(piece))
                if not left:
                    break
    return part


def child(folder: Path, code: str, *arguments: str) -> tuple[str, float]:
    """What a script prints last, in a process of its own, and the peak of that process's memory in MB."""
    # Not ru_maxrss: a child's begins with its parent's.
    peak = "print(int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) / 1024)"
    command = [sys.executable, "-c", code + peak, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    lines = done.stdout.split()
    return lines[-2], float(lines[-1])
