"""A Dask cluster of separate processes, as `dask scheduler` and `dask worker` start it, with the two packages alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.support import copies

ROOT = Path(__file__).parents[2]
OFFLINE = ("-q", "--no-deps", "--no-build-isolation", "--no-index")


@dataclass
class StartedCluster:
    """`folder` is where the processes run; `site` holds the packages as wheels install them."""

    folder: Path
    site: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return json.loads((self.folder / "scheduler.json").read_text())["address"]

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW", "LDEP"))}
        with (self.folder / f"{arguments[0]}-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]],
                cwd=self.folder,
                env={**environment, "PYTHONPATH": str(self.site)},
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def workers(self) -> list[psutil.Process]:
        """The processes that do the work, below their nannies; the resource trackers are none."""
        below = [child for nanny in self.processes[1:] for child in psutil.Process(nanny.pid).children()]
        return [child for child in below if "spawn_main" in _command(child)]


@contextmanager
def running_cluster(folder: Path, workers: int) -> Iterator[StartedCluster]:
    site = folder / "site"
    sources = _sources(folder)
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *OFFLINE, "--target", str(site), sources, sources / "pipeline"],
        check=True,
    )
    (folder / "elsewhere").mkdir()
    cluster = StartedCluster(folder / "elsewhere", site)
    try:
        file = ["--scheduler-file", "scheduler.json"]
        cluster.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *file)
        deadline = time.monotonic() + 300
        while not (cluster.folder / "scheduler.json").exists():
            assert time.monotonic() < deadline, "the scheduler does not start"
            time.sleep(0.1)
        for _ in range(workers):
            cluster.start("worker", "--nthreads", "1", "--no-dashboard", *file)
        yield cluster
    finally:
        for process in reversed(cluster.processes):
            family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
            for member in family:
                if member.is_running():
                    member.kill()
            process.wait()


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # killed a moment ago
        return ""


def _sources(folder: Path) -> Path:
    """A copy: building a wheel leaves folders beside the sources."""
    copies.copy(copies.WHEEL_SOURCES, folder / "sources")
    return folder / "sources"
