"""What does a Dask cluster with two workers cost, compared with two local processes, on the suite of params.yaml?"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from benchmarks.command import ldep, prepare, write_params
from benchmarks.report import Report
from ldep_pipeline.config import params, paths
from ldep_pipeline.execution import results

TIMES = [column for column in results.COLUMNS if column.endswith("seconds")]


def run() -> Report:
    names = params.load().datasets
    report = Report("dask", "Two Dask workers compared with two local processes")
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folders = {backend: Path(scratch, backend) for backend in ("local", "dask")}
        for backend, folder in folders.items():
            write_params(folder, "execution", {"backend": backend, "scheduler": None})
            prepare(folder)
        for number, name in enumerate(tqdm(names, desc="dask", unit="data set")):
            row: dict[str, object] = {"dataset": name}
            # The backends take turns in going first, so that a machine that gets busier favours neither.
            order = list(folders) if number % 2 == 0 else list(reversed(folders))
            for backend in order:
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
    report.claim("wall time over all data sets, Dask divided by local", ratio, "<= 1.15", ratio <= 1.15)
    report.claim("CPU time over all data sets, Dask divided by local", cpu_ratio, "<= 1.15", cpu_ratio <= 1.15)
    same = int(table["identical"].sum())
    report.claim("data sets with identical results, except for times", same, f"{len(table)}", same == len(table))
    load = ", ".join(f"{value:.0f}" for value in os.getloadavg())
    report.note(
        "Each data set is trained by `ldep train` with all models of params.yaml, tracked in MLflow. "
        "`execution.scheduler: null` starts the cluster, and this time is included. Load averages of the machine at "
        "the end (1, 5, 15 minutes): "
        f"{load}."
    )
    return report
