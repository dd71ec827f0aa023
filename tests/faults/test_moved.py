"""A finished project that is moved or copied: the real commands refuse to touch another folder, and one mends it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults import finished
from tests.faults.finished import Finished
from tests.support import killing

pytestmark = [pytest.mark.fault, pytest.mark.slow]
COMMANDS = [("ldep", "train"), ("ldep", "register"), finished.SCORE]


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in finished.written_files(folder)}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("how", ["cp -a", "mv"])
def test_a_project_that_is_moved_or_copied_touches_no_other_folder(small_project: Finished, tmp_path: Path, how):
    small_project.restore()
    source, target = small_project.folder, tmp_path / "elsewhere"
    subprocess.run([*how.split(), str(source), str(target)], check=True)
    try:
        before = contents(source) if source.exists() else {}
        expected = finished.tables(target)
        for command in COMMANDS:
            done = killing.run(target, *command)
            assert done.returncode == 1, done.stderr
            assert "Traceback" not in done.stderr
            assert f"mlflow.db was moved or copied: it names the artifacts in {source}/mlartifacts" in done.stderr
            assert "`ldep relocate`" in done.stderr
        killing.finish(target, "ldep", "relocate")
        for command in COMMANDS:
            killing.finish(target, *command)
        assert finished.tables(target) == expected
        assert (contents(source) if source.exists() else {}) == before
    finally:
        if not source.exists():
            shutil.copytree(small_project.original, source, symlinks=True)
