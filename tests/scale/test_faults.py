"""A disk that is full, and two runs in one clone: `make scale-test`. What is said, and that nothing is spoilt."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests.support import killing
from tests.support import scale_project as project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
DISK = 48 * 2**20


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = project.make(tmp_path_factory.mktemp("undisturbed"))
    code, said = project.finish(folder, "dvc", "repro")
    assert code == 0, said
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.getuid() != 0:
        pytest.skip("only root may mount a small tmpfs")
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path, left: int) -> Path:
    """A file that leaves this many bytes of the disk."""
    ballast = place / "ballast"
    ballast.unlink(missing_ok=True)
    state = os.statvfs(place)
    ballast.write_bytes(bytes(state.f_bavail * state.f_frsize - left))
    return ballast


def test_a_full_disk_is_said_and_with_space_again_the_tables_are_the_same(undisturbed, small_disk):
    folder = project.make(small_disk / "project")
    failed = []
    for left in (0, 2**17, 2**20, 5 * 2**19):  # during fetch, and later and later
        ballast = fill(small_disk, left)
        code, said = project.finish(folder, "dvc", "repro")
        if code != 0:
            failed.append(said)
            assert "No space left on device" in said or "disk is full" in said, said
            assert "Traceback" not in said
    assert len(failed) >= 3
    assert any("ldep train" in said for said in failed), "the disk was never full during a fit"
    ballast.unlink()
    code, said = project.finish(folder, "dvc", "repro")
    assert code == 0, said
    pd.testing.assert_frame_equal(killing.table(folder), killing.table(undisturbed))
    assert killing.check_runs(folder, "suite") == 3 + 1  # and the report
    assert not list(folder.rglob("*.part"))


def test_of_two_dvc_repro_at_once_the_second_says_so_and_stops(undisturbed, tmp_path):
    folder = project.make(tmp_path / "project")
    first = project.start(folder, "dvc", "repro")
    while not (folder / ".ldep/locks/tiny.lock").exists():  # train has begun
        assert first.poll() is None
        time.sleep(0.05)
    code, said = project.finish(folder, "dvc", "repro")
    told, _ = first.communicate()
    assert first.returncode == 0, told
    assert code != 0
    # Between two stages the first holds the lock of the whole repository.
    assert "is busy" in said or "Unable to acquire lock" in said
    pd.testing.assert_frame_equal(killing.table(folder), killing.table(undisturbed))
    assert killing.check_runs(folder, "suite") == 3 + 1  # and the report
    code, said = project.finish(folder, "dvc", "status")
    assert "up to date" in said
