"""The UI that is installed with MLflow still knows the names on which `ldep_pipeline.compat.mlflow_ui` relies."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from pathlib import Path

import mlflow
import pytest

from ldep_pipeline.compat import mlflow_ui

METRIC, PARAMETER = mlflow_ui.Axis("accuracy"), mlflow_ui.Axis("r1", is_parameter=True)
CHARTS = [
    mlflow_ui.parallel_coordinates(["r1"], "accuracy"),
    mlflow_ui.scatter(PARAMETER, METRIC),
    mlflow_ui.contour(PARAMETER, PARAMETER, METRIC),
    mlflow_ui.steps("fold/accuracy"),
    mlflow_ui.differences(),
]
STATE = mlflow_ui.View(
    "title", "", ["accuracy"], False, group=mlflow_ui.Group("a", "max"), charts={"A": CHARTS}
).state()
NAMES = {
    mlflow_ui.VIEW.rstrip("."),
    mlflow_ui.KIND,
    mlflow_ui.KIND_OF_TRAINING,
    mlflow_ui.SHARE_KEY,
    mlflow_ui.WORKFLOW,
    mlflow_ui.WORKFLOW_OF_TRAINING,
    mlflow_ui.MODE,
    mlflow_ui.CHARTS,
    mlflow_ui.COMPRESSED,
    *mlflow_ui.UI_SECTIONS,
    *STATE,
    *(name for chart in STATE["compareRunCharts"] for name in (*chart, chart["type"])),
    *(name for section in STATE["compareRunSections"] for name in section),
    "Run Name",
    "runDateAndNestInfo",
}


@pytest.fixture(scope="module")
def scripts() -> str:
    folder = Path(mlflow.__file__).parent / "server/js/build/static/js"
    return "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.js"))


@pytest.mark.parametrize("name", sorted(NAMES))
def test_the_ui_knows(scripts, name):
    assert name in scripts


def test_a_view_is_recognised_whenever_it_was_saved_and_a_view_without_a_title_is_compressed():
    view = mlflow_ui.View("title", "", ["accuracy"], False)
    assert view.is_saved_as(view.text())
    assert not view.is_saved_as(replace(view, where="tags.model LIKE '%'").text())
    for other in (None, "", "{}", "[1]", '{"name": "title", "state": "no JSON"}', '{"name": "title", "state": 1}'):
        assert not view.is_saved_as(other)
    hidden = replace(view, title="")
    assert hidden.text().startswith(mlflow_ui.COMPRESSED)
    assert (
        json.loads(zlib.decompress(base64.b64decode(hidden.text().removeprefix(mlflow_ui.COMPRESSED)))) == view.state()
    )
    assert hidden.is_saved_as(hidden.text())
