"""Training that is killed: the next run ends as if nothing had happened."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import psutil
import pytest
import yaml

from tests.support import copies, forked, killing, tiny

ROOT = Path(__file__).parents[3]


def make(folder: Path, n_jobs: int = 2, models: bool = True) -> Path:
    copies.copy(copies.SOURCES, folder)
    tiny.prepare(folder)
    tiny.write(folder, tracking={"experiment": "suite", "models": models}, execution={"n_jobs": n_jobs})
    return folder


@pytest.mark.slow
@pytest.mark.fault
def test_killed_at_any_moment_the_next_run_ends_with_the_same_numbers(tmp_path):
    whole, folder = make(tmp_path / "whole"), make(tmp_path / "project")
    began = time.monotonic()
    killing.finish(whole, "ldep", "train")
    length = time.monotonic() - began
    generator = random.Random(1)
    for number in range(4):
        process = killing.start(folder, "ldep", "train")
        time.sleep(2 + generator.uniform(0, max(length - 2, 1)))
        killing.kill(process, whole=number % 2 == 0)
    killing.finish(folder, "ldep", "train")
    pd.testing.assert_frame_equal(killing.table(folder), killing.table(whole))
    assert killing.check_runs(folder, "suite") == 3


COUNTED = """
import os, signal
from pathlib import Path
from sklearn.naive_bayes import GaussianNB

class Counted(GaussianNB):
    def fit(self, X, y):
        with open("fits", "a") as file:
            file.write("x")
        if Path("kill_at").exists() and os.path.getsize("fits") == int(Path("kill_at").read_text()):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)
"""


def counted(folder: Path) -> Path:
    """A project with one tuned model, which writes down each of its fits, in one process."""
    tiny.prepare(folder)
    (folder / "own_models").mkdir()
    (folder / "own_models/counted.py").write_text(COUNTED)
    entry = {"class": "counted.Counted", "search": {"var_smoothing": {"low": 1e-9, "high": 1.0, "log": True}}}
    tiny.write(folder, models=["counted"], classifiers={"counted": entry}, tuning={"trials": 3, "behind": 1.0})
    return folder


def test_a_kill_loses_the_fit_that_was_running_and_no_other(tmp_path):
    whole = counted(tmp_path / "whole")
    assert forked.run(whole, "ldep", "train").code == 0
    fits = (whole / "fits").stat().st_size
    assert fits == 3 * (3 * 3 + 1)
    folder = counted(tmp_path / "killed")
    # The first, second and third fit of a trial, whichever comes; the last is one of the outer fits.
    moments = [1, 3, 5, 12, 20, 22, 33, 36]
    for moment in moments:
        (folder / "kill_at").write_text(str(moment))
        assert forked.run(folder, "ldep", "train").code == -signal.SIGKILL
    (folder / "kill_at").unlink()
    assert forked.run(folder, "ldep", "train").code == 0
    assert (folder / "fits").stat().st_size == fits + len(moments)
    pd.testing.assert_frame_equal(killing.table(folder), killing.table(whole))


def test_workers_end_with_the_process_that_started_them(tmp_path):
    folder = make(tmp_path / "project")
    process = killing.start(folder, "ldep", "train")
    workers: list[psutil.Process] = []
    deadline = time.monotonic() + 300
    while len(workers) < 3 and time.monotonic() < deadline:  # two, and multiprocessing's resource tracker
        time.sleep(0.1)
        workers = psutil.Process(process.pid).children(recursive=True)
    killing.kill(process, whole=False)
    assert_ended(workers)


SLOW = """
import time
from pathlib import Path
from sklearn.naive_bayes import GaussianNB

class Slow(GaussianNB):
    def fit(self, X, y):
        Path("fitting").touch()
        time.sleep(600)
        return super().fit(X, y)
"""


def slow_project(folder: Path) -> Path:
    """A project whose fits do not end by themselves, in two worker processes."""
    make(folder)
    (folder / "slow.py").write_text(SLOW)
    tiny.write(folder, models=["slow"], classifiers={"slow": {"class": "slow.Slow"}}, execution={"n_jobs": 2})
    return folder


def family_of(process: subprocess.Popen[bytes], started: Path) -> list[psutil.Process]:
    """The process and everything below it, once a worker is fitting."""
    deadline = time.monotonic() + 300
    while not started.exists():
        assert time.monotonic() < deadline, "no fit has started"
        time.sleep(0.1)
    return [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]


def assert_ended(family: list[psutil.Process]) -> None:
    deadline = time.monotonic() + 300
    while (alive := [process for process in family if is_alive(process)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    for process in alive:  # so that a failure leaves nothing behind
        process.kill()
    assert not alive


def is_alive(process: psutil.Process) -> bool:
    """Zombies have ended: in a container, nothing may collect the orphans among them."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_sigterm_to_train_ends_it_and_its_workers(tmp_path):
    folder = slow_project(tmp_path / "project")
    process = killing.start(folder, "ldep", "train")
    family = family_of(process, folder / "fitting")
    process.terminate()
    process.wait(timeout=600)
    assert_ended(family)


@pytest.mark.parametrize("command", ["exec ldep train", "ldep train && true"], ids=["no shell", "a shell between"])
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_dvc_ends_the_stage_and_its_workers(tmp_path, signal_number, command):
    folder = slow_project(tmp_path / "project")
    stage = {"cmd": command, "deps": ["params.yaml"]}
    (folder / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"train": stage}}))
    killing.finish(folder, "dvc", "init", "--no-scm", "-q")
    process = killing.start(folder, "dvc", "repro")
    family = family_of(process, folder / "fitting")
    process.send_signal(signal_number)
    process.wait(timeout=600)
    assert_ended(family)


def test_a_second_run_waits_for_the_first(tmp_path):
    """Two runs at once must not write the same files."""
    alone = make(tmp_path / "alone", n_jobs=1, models=False)
    assert forked.run(alone, "ldep", "train").code == 0
    folder = make(tmp_path / "project", models=False)
    first = killing.start(folder, "ldep", "train")
    lock = folder / ".ldep/locks/tiny.lock"
    while not lock.exists() and first.poll() is None:
        time.sleep(0.05)
    second = forked.run(folder, "ldep", "train")
    assert (first.wait(timeout=600), second.code) == (0, 0), second.text
    assert "another process is working on the models of tiny; waiting for it to finish" in second.text
    assert killing.check_runs(folder, "suite") == 3
    pd.testing.assert_frame_equal(killing.table(folder), killing.table(alone))
