"""What a report says about the machine that made it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from ldep_pipeline.common import machine

PRINT = "import numpy; from ldep_pipeline.common import machine; print(machine.describe())"


def test_a_report_names_the_kernels_that_computed_it():
    assert machine.describe().endswith(f", {machine.kernels()}.")
    assert "kernels" in machine.kernels()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the names of OpenBLAS's kernels are those of x86-64")
def test_the_kernels_are_those_that_openblas_is_told_to_use():
    environment = os.environ | {"OPENBLAS_CORETYPE": "Nehalem"}
    done = subprocess.run([sys.executable, "-c", PRINT], env=environment, capture_output=True, text=True, check=True)
    assert "openblas kernels for Nehalem" in done.stdout
