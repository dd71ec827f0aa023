"""Kills a run with SIGKILL and looks at what is left. Also a command, for the default suite:

python -m tests.support.killing FOLDER KILLS SECONDS

FOLDER is a clone of the project after `dvc repro`, which took SECONDS. Its results are what is compared with.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import mlflow
import pandas as pd
import psutil
from mlflow.entities import ViewType

from ldep_pipeline.execution import results
from tests.support.copies import on_path

BIN = Path(sys.executable).parent
TIMES = [column for column in results.COLUMNS if column.endswith("seconds")]


def environment(folder: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_TRACKING") and k != "LDEP_N_JOBS"}
    return {**kept, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": on_path(folder)}


def start(folder: Path, *command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(BIN / command[0]), *command[1:]],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_accept_interrupts,
    )


def _accept_interrupts() -> None:
    """A job in the background of a shell ignores SIGINT, and so would every process below it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run(
    folder: Path, *command: str, seconds: float | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with some more environment variables; TimeoutExpired after so many seconds."""
    return subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        cwd=folder,
        env={**environment(folder), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )


def finish(folder: Path, *command: str) -> str:
    done = run(folder, *command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def kill(process: subprocess.Popen[bytes], whole: bool) -> bool:
    """SIGKILL to the process and all below it, or to the process alone; False if it had ended."""
    if process.poll() is not None:
        return False
    family = [psutil.Process(process.pid)]
    if whole:
        family += family[0].children(recursive=True)
    for member in family:
        try:
            member.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    process.wait()
    return True


PARENT = "mlflow.parentRunId"


def table(folder: Path) -> pd.DataFrame:
    """All numbers of all sets but the times."""
    sets = sorted(path.name for path in (folder / "results").iterdir() if path.is_dir())
    return pd.concat([results.read(name, folder / "results").drop(columns=TIMES) for name in sets], ignore_index=True)


def check_runs(folder: Path, experiment: str) -> int:
    """No run is left RUNNING, none is there twice, also inside others; return how many runs of models there are."""
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    client = mlflow.MlflowClient()
    held = client.get_experiment_by_name(experiment)
    every = client.search_runs([held.experiment_id], run_view_type=ViewType.ALL, max_results=5000)
    assert not [run for run in every if run.info.status == "RUNNING"]
    # `mlflow run` makes a run of its own, without our key.
    active = [run for run in every if run.info.lifecycle_stage == "active" and "ldep.key" in run.data.tags]
    assert {run.info.status for run in active} == {"FINISHED"}
    keys = [run.data.tags["ldep.key"] for run in active]
    assert len(keys) == len(set(keys))
    inside = [run for run in every if run.info.lifecycle_stage == "active" and PARENT in run.data.tags]
    names = [(run.data.tags[PARENT], run.info.run_name) for run in inside]
    assert len(names) == len(set(names))
    assert {parent for parent, _ in names} <= {run.info.run_id for run in active}
    return len(active)


def main() -> None:
    folder, kills, seconds = Path(sys.argv[1]).resolve(), int(sys.argv[2]), float(sys.argv[3])
    finish(folder, "dvc", "repro")
    expected = table(folder)
    # DVC's cache too: it would bring back the outputs of a stage that it remembers, without running it.
    for name in ("mlflow.db", "mlartifacts", ".ldep", "results", "metrics", "plots", "dvc.lock", ".dvc/cache"):
        subprocess.run(["rm", "-rf", str(folder / name)], check=True)
    generator = random.Random(0)
    for number in range(kills):
        process = start(folder, "dvc", "repro")
        time.sleep(generator.uniform(0, 2 * seconds / kills))
        print(f"kill {number + 1}: {'hit' if kill(process, whole=number % 2 == 0) else 'had ended'}", flush=True)
    finish(folder, "dvc", "repro")
    pd.testing.assert_frame_equal(table(folder), expected)
    print(f"the tables are identical; {check_runs(folder, 'ldep')} runs, none RUNNING, none twice")


if __name__ == "__main__":
    main()
