"""What does tracking cost on the sets and models of params.yaml, against their training?

The fits are made once, without tracking, and kept. Then each data set is trained again from these fits: with tracking
into an empty store, and without. Neither fits anything, if no fit failed, so the difference of their CPU seconds is
tracking, loading MLflow and making its database included, and no fit's noise is in it.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from benchmarks.command import ldep, prepare, write_params
from benchmarks.report import Report
from ldep_pipeline.config import params, paths
from ldep_pipeline.execution import results
from ldep_pipeline.report import scores
from ldep_pipeline.tracking.connection import DATABASE
from ldep_pipeline.tracking.relocation import ARTIFACTS

TIMES = 3


def run() -> Report:
    names = params.load().datasets
    report = Report("tracking", "The cost of tracking against that of training")
    seconds: dict[str, dict[bool, list[float]]] = {name: {True: [], False: []} for name in names}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "project")
        write_params(folder, "tracking", {"enabled": False})
        prepare(folder)
        for name in tqdm(names, desc="training"):
            ldep(folder, "train", name)
        table = pd.concat([results.read(name, folder / paths.RESULTS) for name in names])
        training = {name: scores.costs(table[table["dataset"] == name])["total"].sum() for name in names}
        for _ in tqdm(range(TIMES), desc="tracking"):
            shutil.rmtree(folder / ARTIFACTS, ignore_errors=True)
            (folder / DATABASE).unlink(missing_ok=True)
            for enabled in (True, False):
                write_params(folder, "tracking", {"enabled": enabled})
                for name in names:
                    seconds[name][enabled].append(ldep(folder, "train", name)[1])
    found = pd.DataFrame(
        [
            {
                "dataset": name,
                "training_cpu_seconds": training[name],
                "tracking_cpu_seconds": np.median(np.subtract(seconds[name][True], seconds[name][False])),
            }
            for name in names
        ]
    )
    found["share"] = found["tracking_cpu_seconds"] / found["training_cpu_seconds"]
    report.table("sets", found)
    share = found["tracking_cpu_seconds"].sum() / found["training_cpu_seconds"].sum()
    report.claim("CPU seconds of tracking as a share of those of fits and tuning", share, "<= 0.15", share <= 0.15)
    report.note(
        f"`ldep train` of each data set with the {len(params.load().models)} models of params.yaml, fits taken from an "
        f"earlier run: with tracking into an empty SQLite store, less without it, the median of {TIMES}. The first set "
        "makes the database. Training is the CPU time of fits and studies alone."
    )
    return report
