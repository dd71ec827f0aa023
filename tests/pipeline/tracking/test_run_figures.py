"""The curves of a run, which are drawn without axes: they must still be where axes would put them."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from ldep_pipeline.tracking import artifacts

FIRST_COLOUR = np.array([31, 119, 180])
# The frame in pixels of a figure of 450 x 360, from the left and from the top.
LEFT, RIGHT, TOP, BOTTOM = 76, 428, 36, 310
POSITIVE = np.arange(40) >= 20


def coloured(path) -> np.ndarray:
    """Rows and columns of the pixels in the colour of the first curve, without those of the legend's line."""
    pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
    found = np.argwhere(np.abs(pixels - FIRST_COLOUR).max(axis=2) < 40)
    return found[found[:, 0] < BOTTOM - 20]


@pytest.mark.parametrize("draw", [artifacts.draw_roc, artifacts.draw_precision_recall])
def test_a_perfect_ranking_runs_along_the_top_of_the_frame(tmp_path, draw):
    draw({"fold 0": (POSITIVE, np.arange(40.0))}, "tiny", tmp_path / "curve.png")
    pixels = coloured(tmp_path / "curve.png")
    top = pixels[np.abs(pixels[:, 0] - TOP) <= 2]
    assert top[:, 1].min() == pytest.approx(LEFT, abs=4)
    assert top[:, 1].max() == pytest.approx(RIGHT, abs=4)


def test_a_reversed_ranking_stays_off_the_top_left_half(tmp_path):
    artifacts.draw_roc({"fold 0": (POSITIVE, -np.arange(40.0))}, "tiny", tmp_path / "curve.png")
    pixels = coloured(tmp_path / "curve.png")
    assert pixels[:, 1].min() == pytest.approx(RIGHT, abs=4)


def test_a_fold_with_one_class_has_no_curve(tmp_path):
    artifacts.draw_roc({"fold 0": (np.ones(40, bool), np.arange(40.0))}, "tiny", tmp_path / "curve.png")
    assert len(coloured(tmp_path / "curve.png")) == 0


def test_the_legend_of_many_classes_stays_inside_the_frame(tmp_path):
    scores = {f"class {number}": (POSITIVE, np.arange(40.0)) for number in range(40)}
    artifacts.draw_roc(scores, "tiny", tmp_path / "curve.png")
    inside = np.asarray(Image.open(tmp_path / "curve.png").convert("L"))[: TOP - 3, LEFT + 250 : RIGHT]
    assert inside.min() == 255
