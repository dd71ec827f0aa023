"""What does a Dask cluster of two workers cost against two local processes, on the sets and models of params.yaml?"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import yaml
from tqdm import tqdm

from benchmarks.report import Report
from pipeline import params, paths, results

WORKERS = "2"
TIMES = [column for column in results.COLUMNS if column.endswith("seconds")]


def ldep(folder: Path, *arguments: str) -> tuple[float, float]:
    """Wall and CPU seconds of the command, its workers included."""
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pipeline", *arguments],
        cwd=folder,
        env={**environment, "LDEP_N_JOBS": WORKERS},
        check=True,
        stderr=subprocess.DEVNULL,
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def prepare(folder: Path, backend: str) -> None:
    values = yaml.safe_load(paths.PARAMS.read_text(encoding="utf-8"))
    values["execution"] |= {"backend": backend, "scheduler": None}
    folder.mkdir()
    (folder / paths.PARAMS).write_text(yaml.safe_dump(values), encoding="utf-8")
    for stage in ("fetch", "impute", "split"):
        ldep(folder, stage)


def run() -> Report:
    names = params.load().datasets
    report = Report("dask", "Two Dask workers against two local processes")
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folders = {backend: Path(scratch, backend) for backend in ("local", "dask")}
        for backend, folder in folders.items():
            prepare(folder, backend)
        for number, name in enumerate(tqdm(names, desc="sets")):
            row: dict[str, object] = {"dataset": name}
            # In turn the first: a machine that gets busier or freer favours neither.
            for backend in list(folders)[:: 1 if number % 2 == 0 else -1]:
                row[f"{backend}_seconds"], row[f"{backend}_cpu_seconds"] = ldep(folders[backend], "train", name)
            tables = [results.read(name, folder / paths.RESULTS).drop(columns=TIMES) for folder in folders.values()]
            row["identical"] = tables[0].equals(tables[1])
            rows.append(row)
    table = pd.DataFrame(rows)
    table["ratio"] = table["dask_seconds"] / table["local_seconds"]
    table["cpu_ratio"] = table["dask_cpu_seconds"] / table["local_cpu_seconds"]
    report.table("sets", table)
    ratio = table["dask_seconds"].sum() / table["local_seconds"].sum()
    cpu_ratio = table["dask_cpu_seconds"].sum() / table["local_cpu_seconds"].sum()
    report.claim("wall time, Dask against local, all sets together", ratio, "<= 1.15", ratio <= 1.15)
    report.claim("CPU time, Dask against local, all sets together", cpu_ratio, "<= 1.15", cpu_ratio <= 1.15)
    same = int(table["identical"].sum())
    report.claim("sets with identical tables but for times", same, f"{len(table)}", same == len(table))
    load = ", ".join(f"{value:.0f}" for value in os.getloadavg())
    report.note(
        "`ldep train` of each set with all models of params.yaml, tracked in MLflow. The cluster is the one that "
        "`execution.scheduler: null` starts, so its start counts. Load of the machine at the end (1, 5, 15 minutes): "
        f"{load}."
    )
    return report
