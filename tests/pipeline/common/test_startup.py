"""Commands use the same numerical code on every processor with AVX2."""

from __future__ import annotations

import os
import platform
import stat
import subprocess
import sys

import pytest

from ldep_pipeline.common.startup import CPU_INFO, VARIABLES, close_dvc_cache, use_common_kernels

# What a command does, up to the point where it has loaded NumPy.
COMMAND = """
import os
from ldep_pipeline.commands.main import main
main(["datasets", "--names"])
import numpy
from ldep_pipeline.common import machine
print(machine.kernels(), os.environ["OPENBLAS_CORETYPE"], os.environ["NPY_DISABLE_CPU_FEATURES"])
"""
has_avx2 = CPU_INFO.is_file() and " avx2 " in CPU_INFO.read_text()


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in VARIABLES:
        monkeypatch.setenv(name, "")  # so that the variable is restored, whatever the test sets
        monkeypatch.delenv(name)


@pytest.mark.parametrize("exists", [False, True])
def test_the_cache_of_dvc_is_closed_to_other_users(tmp_path, exists):
    """DVC unpickles what lies there, and makes the folder with mode 777."""
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").touch()
    if exists:
        (tmp_path / ".ldep/dvc").mkdir(parents=True)
        (tmp_path / ".ldep/dvc").chmod(0o777)
    command = [sys.executable, "-m", "ldep_pipeline.commands.main", "datasets", "--names"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert stat.S_IMODE((tmp_path / ".ldep/dvc").stat().st_mode) == 0o700


def test_a_folder_that_is_no_project_is_left_alone(tmp_path):
    close_dvc_cache(tmp_path)
    assert list(tmp_path.iterdir()) == []


def write_flags(tmp_path, flags: str):
    path = tmp_path / "cpuinfo"
    path.write_text(f"processor\t: 0\nflags\t\t: fpu {flags} xsave\n")
    return path


def test_a_processor_with_avx512_is_told_to_use_avx2(tmp_path):
    use_common_kernels(write_flags(tmp_path, "avx avx2 avx512f"))
    assert {name: os.environ[name] for name in VARIABLES} == VARIABLES


@pytest.mark.parametrize("flags", ["sse4_2 avx", "neon"])
def test_a_processor_without_avx2_chooses_for_itself(tmp_path, flags):
    use_common_kernels(write_flags(tmp_path, flags))
    use_common_kernels(tmp_path / "no such file")
    assert not VARIABLES.keys() & os.environ.keys()


def test_the_users_choice_wins(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "SkylakeX")
    use_common_kernels(write_flags(tmp_path, "avx avx2 avx512f"))
    assert os.environ["OPENBLAS_CORETYPE"] == "SkylakeX"


@pytest.mark.skipif(not has_avx2, reason="this processor has no AVX2")
def test_a_command_sets_them_before_numpy_is_loaded():
    done = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"openblas kernels for Haswell {' '.join(VARIABLES.values())}"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the names of OpenBLAS's kernels are those of x86-64")
def test_a_command_keeps_the_kernels_of_the_environment():
    environment = os.environ | {"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": ""}
    done = subprocess.run([sys.executable, "-c", COMMAND], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].startswith("openblas kernels for Nehalem")
