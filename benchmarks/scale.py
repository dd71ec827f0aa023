"""What would 1,000 data sets with 100 seeds cost, and what would break first?

Three costs are measured and extrapolated: the CPU seconds of a fit by its size, from the results in results/ (run `make
repro` or `make paper` first); the cost of a stage in DVC, by running `dvc repro` on stages that do almost nothing; and
the cost of a run in MLflow, by writing runs like ours into an SQLite store. All are CPU seconds, which do not depend on
other load of the machine. DVC and MLflow write in one process: no cluster shortens the time that they take.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

import mlflow
import numpy as np
import pandas as pd
import yaml
from mlflow.entities import Metric, Param, RunTag

from benchmarks.report import FOLDER, Report
from benchmarks.timing import ended_children
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config import paths
from ldep_pipeline.data import catalogue
from ldep_pipeline.execution import results
from ldep_pipeline.fitting.specs import ccp_seconds

DATASETS, SEEDS, MODELS, FOLDS, CORES = 1_000, 100, 13, 5, 1_000
STAGES = (30, 60, 120, 240)  # of the measured dvc.yaml
RUNS = (30, 60, 120)  # in the measured store
METRICS, PARAMS, TAGS = 110, 8, 9  # of a run of a tuned model
TASKS = 2_000


def fits(folder: Path = paths.RESULTS) -> pd.DataFrame:
    """Return one row per data set, model and fold: the size, and the CPU seconds of fit and tuning."""
    rows = []
    for name in catalogue.load():
        if not (folder / name / "results.csv").is_file():
            continue
        entry = catalogue.entry(name)
        table = results.read(name, folder).query("metric == 'accuracy' and status == 'ok'")
        for row in table.to_dict("records"):
            settings = json.loads(row["settings"])
            rows.append(
                {
                    "dataset": name,
                    "model": row["model"],
                    "solver": row["solver"] if isinstance(row["solver"], str) else "",
                    "m": round(entry.rows * (FOLDS - 1) / FOLDS),
                    "n": entry.features,
                    "r": settings.get("r1", 0) + settings.get("r2", 0),
                    "fit": row["fit_cpu_seconds"],
                    "tune": row["tune_cpu_seconds"],
                }
            )
    if not rows:
        raise UserError(
            f"{folder}/ has no results of the catalogue's data sets; run `make repro` or `make paper` first."
        )
    return pd.DataFrame(rows)


def law(sizes: pd.DataFrame, seconds: pd.Series) -> dict[str, float]:
    """Fit log seconds = log c + sum of exponent x log size by least squares.

    Return c, the exponents, and the factor by which a typical measurement differs from the law.
    """
    varying = [name for name in sizes if sizes[name].nunique() > 2 and (sizes[name] > 0).all()]
    A = np.column_stack([np.ones(len(sizes)), *(np.log(sizes[name]) for name in varying)])
    solution = np.linalg.lstsq(A, np.log(seconds), rcond=None)[0]
    off = np.exp(np.median(np.abs(np.log(seconds) - A @ solution)))
    return {"c": np.exp(solution[0]), **dict(zip(varying, solution[1:])), "typical_factor": off}


def predict(fitted: dict[str, float], **sizes: float) -> float:
    """Return the seconds that a law predicts for a size."""
    return fitted["c"] * float(np.prod([sizes[name] ** fitted[name] for name in sizes if name in fitted]))


def polynomial(counts: tuple[int, ...], seconds: list[float]) -> np.ndarray:
    """Fit a + b S + c S^2 with nonnegative coefficients: a constant cost, one per stage, one per pair of stages."""
    from scipy.optimize import nnls

    A = np.vander(counts, 3, increasing=True).astype(float)
    return nnls(A / np.asarray(seconds)[:, None], np.ones(len(counts)))[0]


def children_cpu(call: Callable[[], object]) -> float:
    before = ended_children()
    call()
    return ended_children() - before


def dvc_seconds(stages: int) -> tuple[float, float]:
    """Return the CPU seconds of `dvc repro` on stages that write one file each, and of a second, empty run."""
    command = [str(Path(sys.executable).with_name("dvc")), "repro", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        for line in (
            ["git", "init", "-q"],
            [command[0], "init", "-q"],
            [command[0], "config", "core.analytics", "false"],
        ):
            subprocess.run(line, cwd=folder, check=True, capture_output=True)
        stage = {
            "matrix": {"name": list(range(stages))},
            "cmd": "echo ${item.name} > ${item.name}.txt",
            "outs": ["${item.name}.txt"],
        }
        Path(folder, "dvc.yaml").write_text(yaml.safe_dump({"stages": {"write": stage}}))

        def repro() -> None:
            subprocess.run(command, cwd=folder, check=True, capture_output=True)

        return children_cpu(repro), children_cpu(repro)


def mlflow_seconds(counts: tuple[int, ...]) -> list[dict]:
    """Return the CPU seconds to write a run like ours and to look one up, and the bytes per run, as the store grows."""
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "mlflow.db")
        client = mlflow.MlflowClient(f"sqlite:///{database}")
        experiment = client.create_experiment("scale", artifact_location=Path(folder, "artifacts").as_uri())
        empty = database.stat().st_size
        written = 0
        for count in counts:
            start = time.process_time()
            for number in range(written, count):
                run = client.create_run(experiment, tags={"ldep.key": f"{number:064x}"})
                client.log_batch(
                    run.info.run_id,
                    metrics=[Metric(f"fold/m{k // FOLDS}", k / 7, 0, k % FOLDS) for k in range(METRICS)],
                    params=[Param(f"p{k}", "10 | 20 | 10 | 5 | 20") for k in range(PARAMS)],
                    tags=[RunTag(f"t{k}", "0" * 32) for k in range(TAGS)],
                )
                client.set_terminated(run.info.run_id)
            write = (time.process_time() - start) / (count - written)
            written = count
            start = time.process_time()
            for number in range(10):
                runs = client.search_runs([experiment], f"tags.`ldep.key` = '{number:064x}'", max_results=1)
                assert len(runs) == 1
            look = (time.process_time() - start) / 10
            size = (database.stat().st_size - empty) / count
            measured.append({"runs": count, "write_seconds": write, "look_up_seconds": look, "bytes_per_run": size})
    return measured


def nothing(number: int) -> int:
    return number


def dispatch_seconds() -> float:
    """Return the CPU seconds that the driver spends on one task that does nothing, in a pool of processes."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        pool.submit(nothing, 0).result()
        start = time.process_time()
        assert [task.result() for task in [pool.submit(nothing, k) for k in range(TASKS)]] == list(range(TASKS))
        return (time.process_time() - start) / TASKS


def suite_seconds(table: pd.DataFrame) -> pd.DataFrame:
    """Return the CPU seconds of each model per data set, by its law: all folds with tuning, averaged over the 30."""
    entries = catalogue.load().values()
    rows = []
    for model, part in table.groupby("model", sort=False):
        whole = law(part[["m", "n"]], part["fit"] + part["tune"])
        each = [FOLDS * predict(whole, m=e.rows * (FOLDS - 1) / FOLDS, n=e.features) for e in entries]
        rows.append(
            {"model": model, "datasets": part["dataset"].nunique(), **whole, "seconds_per_dataset": np.mean(each)}
        )
    return pd.DataFrame(rows)


def scaling_rows() -> pd.DataFrame:
    """Return the measured fits of `python -m benchmarks scaling` in the form that `fits` returns."""
    by_rows = pd.read_csv(FOLDER / "scaling-rows.csv").assign(n=20, r=20).rename(columns={"rows": "m"})
    by_pieces = pd.read_csv(FOLDER / "scaling-pieces.csv").assign(m=10_000, n=20)
    by_pieces["r"] = 2 * by_pieces["pieces"]
    return pd.concat([by_rows, by_pieces]).rename(columns={"seconds": "fit"})[["m", "n", "r", "fit"]]


def run() -> Report:
    report = Report("scale", "What a larger suite would cost, and what would break first")
    table = fits()
    tuned = table[(table["model"] == "ldep") & (table["solver"] == "anneal")]
    annealed = pd.concat([tuned, scaling_rows()], ignore_index=True)
    ours = law(annealed[["m", "n", "r"]], annealed["fit"])
    exact = table[table["solver"] == "ccp"]
    ratio = np.log(exact["fit"] / [ccp_seconds(row.m, row.n, 10, 10) for row in exact.itertuples()])
    suite = suite_seconds(table)

    dvc = []
    for count in STAGES:
        first, second = dvc_seconds(count)
        dvc.append({"stages": count, "run": first, "nothing_to_do": second})
    lock = polynomial(STAGES, [row["run"] for row in dvc])
    tracking = mlflow_seconds(RUNS)
    dispatch = dispatch_seconds()

    stages = 3 * DATASETS + 3
    runs, tasks = DATASETS * SEEDS * MODELS, DATASETS * SEEDS * MODELS * FOLDS
    compute = suite["seconds_per_dataset"].sum() * DATASETS * SEEDS
    repro = float(lock @ [1, stages, stages**2])
    write = np.mean([row["write_seconds"] for row in tracking])
    look = tracking[-1]["look_up_seconds"]
    costs = pd.DataFrame(
        [
            ("fits and tuning", "parallel", compute, compute / CORES),
            (f"DVC: {SEEDS} x `dvc repro` of {stages:,} stages", "serial", SEEDS * repro, SEEDS * repro),
            (f"MLflow: writing {runs:,} runs", "serial", runs * write, runs * write),
            (f"MLflow: looking up {runs:,} runs", "serial", runs * look, runs * look),
            (f"pool: dispatching {tasks:,} fits", "serial", tasks * dispatch, tasks * dispatch),
        ],
        columns=["what", "kind", "cpu_seconds", "wall_seconds"],
    )
    costs["wall_hours"] = costs["wall_seconds"] / 3600
    serial = costs[costs["kind"] == "serial"].sort_values("wall_seconds", ascending=False)
    database = runs * tracking[-1]["bytes_per_run"] / 2**30
    report.note(
        f"A fit of the ℓ-DEP by `anneal` with two starts takes {ours['c']:.3g} m^{ours['m']:.2f} n^{ours['n']:.2f} "
        f"r^{ours['r']:.2f} CPU seconds for m rows, n features and r = r1 + r2 pieces. A typical fit differs from this "
        f"by a factor of {ours['typical_factor']:.2f}. The law is fitted to {len(tuned)} fits on "
        f"{tuned['dataset'].nunique()} data sets and to those of scaling.md."
    )
    if len(exact):
        report.note(
            f"A fit by exact CCP takes {np.exp(np.median(ratio)):.2f} times the estimate of "
            f"`pipeline/ldep_pipeline/fitting/specs.py`, in the median of {len(exact)} fits on "
            f"{exact['dataset'].nunique()} data sets. A typical fit differs from this by a factor of "
            f"{np.exp(np.median(np.abs(ratio - np.median(ratio)))):.2f}."
        )
    report.note(
        f"`dvc repro` of S stages takes {lock[0]:.2f} + {lock[1]:.3f} S + {lock[2]:.2g} S^2 CPU seconds. "
        f"A run in MLflow takes {write:.3f} CPU seconds and {tracking[-1]['bytes_per_run'] / 1024:.0f} KB. "
        f"Dispatching a task to the pool takes {1e3 * dispatch:.2f} ms of the driver."
    )
    report.note(
        f"With {DATASETS:,} data sets like the paper's 30, {SEEDS} seeds, {MODELS} models and {FOLDS} folds, the fits "
        f"take {compute / CORES / 3600:.0f} hours on {CORES:,} cores. The longest serial parts are "
        f"{serial['what'].iloc[0]} ({serial['wall_hours'].iloc[0]:.0f} hours) and {serial['what'].iloc[1]} "
        f"({serial['wall_hours'].iloc[1]:.0f} hours). mlflow.db would grow to {database:.0f} GB."
    )
    report.table("costs", costs)
    report.table("laws", suite)
    report.table("dvc", pd.DataFrame(dvc))
    report.table("mlflow", pd.DataFrame(tracking))
    report.table("fits", table)
    return report
