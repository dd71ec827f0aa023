"""Targets of the Makefile that end at once, and the order of `make test`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import LONGEST
from tests.support.servers import free_port

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent  # the target calls `ldep` by name


def test_make_ui_says_that_a_tracking_server_does_not_answer_and_hides_its_password(tmp_path):
    address = f"127.0.0.1:{free_port()}"
    done = subprocess.run(
        ["make", "-C", str(ROOT), f"VENV={tmp_path}", f"--old-file={tmp_path}/.ready", "ui"],
        env={
            **os.environ,
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "MLFLOW_TRACKING_URI": f"http://ann:secret@{address}",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode != 0
    assert f"the tracking store http://ann:***@{address} cannot be used" in done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stdout + done.stderr


def test_the_files_that_are_tested_first_exist():
    assert [name for name in LONGEST if not (ROOT / name).is_file()] == []
