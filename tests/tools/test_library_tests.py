"""The tests of the library need the library alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WITHOUT_THE_APPLICATION = """
import sys
import pytest
sys.modules["ldep_pipeline"] = None
sys.exit(pytest.main(["--collect-only", "--quiet", "-p", "no:cacheprovider", "tests/ldep"]))
"""


def test_they_are_collected_where_the_application_cannot_be_imported():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_APPLICATION], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
