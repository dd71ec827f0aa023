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
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import yaml

from tests.faults import finished
from tests.support import killing, scale_project

SIGNALS, BETWEEN_CHECKS = 100, 20
PATIENCE = 50  # seconds for everything to end: ten times what an idle machine needs
WRITTEN = (
    "data/decides",
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
# What is lost when a run has come to its end: a new clone; one with the finished work of another; a lost registry.
WITHOUT = (
    ("mlflow.db", "mlartifacts", ".ldep", *WRITTEN),
    WRITTEN,
    ("mlflow.db", "mlartifacts", "registry", "report", "dvc.lock", ".dvc/cache"),
)


@dataclass(frozen=True)
class Shot:
    """One signal: which, who got it, how often it was repeated, and the seconds until nothing was left."""

    signal: str
    target: str
    repeated: int
    seconds: float


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
    lose_work(folder, generator)
    while len(shots) < SIGNALS:
        shot = shoot(folder, generator, length)
        if shot is None:  # the run had ended before
            finish(folder)
            assert finished.tables(folder) == expected
            lose_work(folder, generator)
            continue
        shots.append(shot)
        if len(shots) % BETWEEN_CHECKS == 0:
            finish(folder)
            assert finished.tables(folder) == expected, shots[-BETWEEN_CHECKS:]
            killing.check_runs(folder, "suite")
            lose_work(folder, generator)
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


def finish(folder: Path) -> None:
    """Run to the end. DVC writes two of its own files in place: one that a kill has cut is removed, as DVC says."""
    cut = {"Unable to read RWLock-file": ".dvc/tmp/rwlock", "dvc.lock' validation failed": "dvc.lock"}
    code, output = scale_project.finish(folder, "dvc", "repro")
    for message, name in cut.items():
        if message in output:
            remove(folder / name)
            code, output = scale_project.finish(folder, "dvc", "repro")
    assert code == 0, output


def lose_work(folder: Path, generator: random.Random) -> None:
    for name in generator.choice(WITHOUT):
        remove(folder / name)


def shoot(folder: Path, generator: random.Random, length: float) -> Shot | None:
    """Start a run, send one signal after a random time, and wait until nothing is left; None if it ended before."""
    number = generator.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    kind = generator.choice(["dvc", "ldep", "a worker", "the session"])
    process = killing.start(folder, "dvc", "repro")
    time.sleep(generator.uniform(0, length / 3))
    target, members = targets(process, kind, generator)
    if process.poll() is not None or not members:
        process.wait()
        return None
    send(number, members)
    if number == signal.SIGINT and target in ("dvc", "a worker"):
        # DVC leaves SIGINT to the command that it runs, and a worker leaves it to its driver: such a run goes on.
        send(signal.SIGTERM, session(process.pid))
    sent = time.monotonic()
    repeated = 0
    while (left := session(process.pid)) and time.monotonic() < sent + PATIENCE:
        process.poll()
        time.sleep(0.1)
        if number == signal.SIGINT and time.monotonic() > sent + 10 * (repeated + 1):
            # DVC does not see an interrupt that a stage gets while it ends: the user presses Ctrl-C again.
            send(number, left)
            repeated += 1
    seconds = time.monotonic() - sent
    names = [describe(member) for member in left]
    for member in left:  # so that a failure leaves nothing behind
        member.kill()
    process.wait()
    assert not left, f"{number.name} to {target}: still running after {seconds:.0f} s: {names}"
    return Shot(number.name, target, repeated, seconds)


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


def targets(process: subprocess.Popen[bytes], kind: str, generator: random.Random) -> tuple[str, list[psutil.Process]]:
    """The processes of a kind; `dvc` where there is no other just now."""
    members = session(process.pid)
    if kind == "the session":
        return kind, members
    words = {"ldep": "/ldep", "a worker": "spawn_main"}
    matching = [member for member in members if kind in words and words[kind] in describe(member)]
    if matching:
        return kind, [generator.choice(matching)]
    return "dvc", [member for member in members if member.pid == process.pid]


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
    kinds = Counter(f"{shot.signal} to {shot.target}" for shot in shots)
    return (
        f"{len(shots)} signals: nothing was left after {max(shot.seconds for shot in shots):.1f} s at most, "
        f"{sum(shot.seconds <= 5 for shot in shots)} times within 5 s; "
        f"{sum(shot.repeated > 0 for shot in shots)} interrupts were repeated. "
        f"{', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))}"
    )
