"""Targets of the Makefile that need no tool beside make itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_make_ui_names_the_address_of_a_tracking_server_and_ends(tmp_path):
    """A server has a UI of its own, and `mlflow ui` cannot show another server's runs."""
    done = subprocess.run(
        ["make", "-C", str(ROOT), f"VENV={tmp_path}", f"--old-file={tmp_path}/.ready", "ui"],
        env={**os.environ, "MLFLOW_TRACKING_URI": "https://ann:secret@runs.example.org/mlflow"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "The tracking server has its own UI. Open https://runs.example.org/mlflow" in done.stdout
    assert "secret" not in done.stdout + done.stderr
