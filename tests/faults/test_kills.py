"""A hundred signals at random moments: nothing keeps running, and the next run ends with the same tables.

tests/pipeline/execution/test_kill.py has the part of this that `make test` runs.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import yaml

from tests.faults import finished
from tests.support import killing, scale_project

ROUNDS, SIGNALS_PER_ROUND = 5, 20
PATIENCE = 50  # seconds for everything to end: ten times what an idle machine needs
LONGEST = 600  # seconds for a run that a signal does not end
WRITTEN = (
    "data/params.checked",
    "data/raw",
    "data/imputed",
    "data/folds",
    "results",
    "metrics",
    "plots",
    "registry",
    "report",
    "dvc.lock",
    ".dvc/cache",
)
# What a round begins without: a new clone; a new clone with the finished work of an old one; a lost registry.
WITHOUT = (
    ("mlflow.db", "mlartifacts", ".ldep", *WRITTEN),
    WRITTEN,
    ("mlflow.db", "mlartifacts", "registry", "report", "dvc.lock", ".dvc/cache"),
)


@dataclass(frozen=True)
class Shot:
    """One signal: what was running, who got it, and how long it took until nothing was left."""

    command: str
    target: str
    signal: str
    seconds: float
    code: int | None


@pytest.mark.slow
@pytest.mark.fault
@pytest.mark.timeout(7200)
def test_a_hundred_signals_at_random_moments(tmp_path, capsys):
    folder = make(tmp_path / "project")
    began = time.monotonic()
    killing.finish(folder, "dvc", "repro")
    length = time.monotonic() - began
    expected = finished.tables(folder)
    generator = random.Random(15)
    shots: list[Shot] = []
    for number in range(ROUNDS):
        for name in WITHOUT[number % len(WITHOUT)]:
            remove(folder / name)
        for _ in range(SIGNALS_PER_ROUND):
            shots.append(shoot(folder, generator, length))
        killing.finish(folder, "dvc", "repro")
        assert finished.tables(folder) == expected, shots[-SIGNALS_PER_ROUND:]
        killing.check_runs(folder, "suite")
        with capsys.disabled():
            print("\n" + summary(shots), flush=True)


def make(folder: Path) -> Path:
    """A project whose fits run in two worker processes."""
    scale_project.make(folder, models=["svc", "ldep"])
    path = folder / "params.yaml"
    values = yaml.safe_load(path.read_text())
    values["execution"]["n_jobs"] = 2
    values["tracking"]["models"] = False  # they take as long as all fits
    path.write_text(yaml.safe_dump(values, sort_keys=False))
    return folder


def shoot(folder: Path, generator: random.Random, length: float) -> Shot:
    """Start a run, send one signal after a random time, and wait until nothing of it is left."""
    command = generator.choice([("dvc", "repro"), ("dvc", "repro"), ("dvc", "repro"), ("ldep", "train")])
    number = generator.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    target = generator.choice(["the command", "ldep", "a worker", "the session"])
    process = killing.start(folder, *command)
    time.sleep(generator.uniform(0, length / 8))
    if process.poll() is None:
        send(number, targets(process, target, generator))
    sent = time.monotonic()
    try:
        # DVC leaves SIGINT to the command that it runs, and so does a worker to its driver: such a run goes on.
        code = process.wait(LONGEST if number == signal.SIGINT and target != "the session" else PATIENCE)
    except subprocess.TimeoutExpired:
        code = None
    while (left := session(process.pid)) and code is not None and time.monotonic() < sent + LONGEST:
        time.sleep(0.1)
        if time.monotonic() > sent + PATIENCE and number != signal.SIGINT:
            break
    seconds = time.monotonic() - sent
    names = [describe(member) for member in left]
    for member in left:  # so that a failure leaves nothing behind
        member.kill()
    assert not left, f"{number.name} to {target} of {' '.join(command)}: still running after {seconds:.0f} s: {names}"
    assert code is not None
    return Shot(" ".join(command), target, number.name, seconds, code)


def session(leader: int) -> list[psutil.Process]:
    """Every process that the command has started and that has not ended."""
    members = []
    for pid in psutil.pids():
        try:
            process = psutil.Process(pid)
            if os.getsid(pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                members.append(process)
        except (psutil.Error, OSError):
            continue
    return members


def targets(process: subprocess.Popen[bytes], target: str, generator: random.Random) -> list[psutil.Process]:
    """The processes that get the signal; the command itself where there is no other of that kind just now."""
    members = session(process.pid)
    if target == "the session":
        return members
    kinds = {"ldep": "/ldep", "a worker": "spawn_main"}
    if target in kinds:
        matching = [member for member in members if kinds[target] in describe(member)]
        if matching:
            return [generator.choice(matching)]
    return [member for member in members if member.pid == process.pid]


def send(number: signal.Signals, members: list[psutil.Process]) -> None:
    for member in members:
        try:
            member.send_signal(number)
        except psutil.NoSuchProcess:
            continue


def describe(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def summary(shots: list[Shot]) -> str:
    ended = [shot for shot in shots if shot.code != 0]
    slowest = max((shot.seconds for shot in ended), default=0.0)
    return (
        f"{len(shots)} signals; {len(ended)} ended the run, and nothing was left after {slowest:.1f} s at most; "
        f"{sum(shot.seconds <= 5 for shot in ended)} of these within 5 s"
    )
