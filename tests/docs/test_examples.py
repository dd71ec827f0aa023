"""The examples run unchanged and draw their figures."""

from __future__ import annotations

import subprocess
import sys

import pytest
from matplotlib.image import imread

from tests.support import pages

SCRIPTS = sorted(pages.ROOT.glob("examples/*.py"))


def test_there_are_six_examples():
    assert len(SCRIPTS) == 6


@pytest.mark.parametrize("script", SCRIPTS, ids=pages.name)
def test_example_draws_the_figure_shown_in_the_docs(script, tmp_path):
    drawn, shown = tmp_path / "picture.png", pages.ROOT / f"docs/images/{script.stem}.png"
    done = subprocess.run([sys.executable, script, drawn], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "it prints nothing"
    # The bytes differ between machines, because of timings and fonts.
    assert imread(drawn).shape == imread(shown).shape
    assert imread(drawn)[..., :3].std() > 0.05, "the figure is empty"
    page = (pages.ROOT / "docs/examples.md").read_text(encoding="utf-8")
    assert f"](images/{shown.name})" in page
    assert f"](../examples/{script.name})" in page
