"""Commands in processes that start within milliseconds: forks of a server process that has imported everything."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.copies import on_path

BIN = Path(sys.executable).parent
LIMIT = 600  # seconds for one command, also on a busy machine
IMPORTED = [
    "alembic.command",
    "dulwich.repo",
    "dvc.cli",
    "dvc.commands.repro",
    "dvc.repo.reproduce",
    "dvc.stage.loader",
    "dvc.utils.strictyaml",
    "mlflow.cli",
    "mlflow.pyfunc",
    "mlflow.store.tracking.sqlalchemy_store",
    "optuna",
    "ldep_pipeline.commands.main",
    "ldep_pipeline.commands.score",
    "ldep_pipeline.stages.report",
    "ldep_pipeline.stages.fetch",
    "ldep_pipeline.stages.impute",
    "ldep_pipeline.stages.register",
    "ldep_pipeline.stages.split",
    "ldep_pipeline.stages.train",
    "ldep_pipeline.tracking.tracker",
    "pyarrow.dataset",
    "scmrepo.git",
]
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(IMPORTED)


@dataclass(frozen=True)
class Outcome:
    command: tuple[str, ...]
    code: int | None
    text: str
    """Everything that the command wrote to stdout and stderr."""


def environment(folder: Path) -> dict[str, str]:
    """The environment of a command in a project: its own store, key and modules."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW", "LDEP"))}
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return {**inherited, "PATH": path, "PYTHONPATH": on_path(folder), "OMP_NUM_THREADS": "1"}


def run(folder: Path, *command: str, until: str | None = None) -> Outcome:
    """Run `ldep ...`, `dvc ...` or `mlflow ...` in a folder.

    A command that does not end within LIMIT seconds is killed: its code is None. One that writes `until`, as a server
    does when it is ready, is terminated, and counts as a success.
    """
    with tempfile.NamedTemporaryFile() as output:
        process = _context.Process(target=_run, args=(command, folder, output.name, environment(folder)))
        process.start()
        deadline = time.monotonic() + LIMIT
        is_ready = False
        while process.is_alive() and not is_ready and time.monotonic() < deadline:
            process.join(0.2 if until else LIMIT)
            is_ready = until is not None and until in _read(output.name)
        code = 0 if is_ready else process.exitcode
        if process.is_alive():
            process.terminate()
            process.join(LIMIT)
        return Outcome(command, code, _read(output.name))


def _read(output: str) -> str:
    return Path(output).read_text(encoding="utf-8", errors="replace")


def _run(command: Sequence[str], folder: Path, output: str, variables: dict[str, str]) -> None:
    os.setsid()
    descriptor = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = list(command)
    program, *arguments = command
    if program == "dvc":
        from dvc.cli import main as run_program
    elif program == "mlflow":
        from mlflow.cli import cli as run_program
    else:
        from ldep_pipeline.commands.main import main as run_program
    sys.exit(run_program(arguments))
