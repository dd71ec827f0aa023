"""The search for a supported Python: what is found, what is passed over, and what the error says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools/find-python"


def command(folder: Path, name: str, version: tuple[int, int]) -> Path:
    """Put a program into the folder that answers as this version of Python would."""
    path = folder / name
    supported = (3, 11) <= version <= (3, 14)
    shown = ".".join(map(str, version))
    path.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && {{ echo "Python {shown}.0"; exit 0; }}\nexit {int(not supported)}\n'
    )
    path.chmod(0o755)
    return path


def find(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    return subprocess.run([SCRIPT, *map(str, arguments)], env=environment, capture_output=True, text=True, check=False)


def test_the_newest_version_that_is_well_tried_is_found(tmp_path):
    for minor in (11, 12, 13, 14, 15):
        command(tmp_path, f"python3.{minor}", (3, minor))
    assert find(tmp_path).stdout.strip() == str(tmp_path / "python3.13")


def test_the_newest_supported_version_is_taken_if_there_is_no_other(tmp_path):
    wanted = command(tmp_path, "python3.14", (3, 14))
    assert find(tmp_path, wanted).stdout.strip() == str(wanted)


def test_a_shim_that_starts_nothing_is_passed_over(tmp_path):
    (tmp_path / "python3.13").write_text("#!/bin/sh\nexit 127\n")
    (tmp_path / "python3.13").chmod(0o755)
    expected = command(tmp_path, "python3.12", (3, 12))
    assert find(tmp_path).stdout.strip() == str(expected)


def test_an_unsupported_version_is_named_with_what_to_install(tmp_path):
    done = find(tmp_path, command(tmp_path, "python", (3, 10)))
    assert done.returncode == 1
    assert "needs Python 3.11, 3.12, 3.13 or 3.14" in done.stderr
    assert f"{tmp_path / 'python'} is Python 3.10.0" in done.stderr
    assert "apt-get install python3 python3-venv" in done.stderr


def test_a_missing_python_is_named(tmp_path):
    done = find(tmp_path, "no-such-python")
    assert done.returncode == 1
    assert "no-such-python is not installed" in done.stderr
