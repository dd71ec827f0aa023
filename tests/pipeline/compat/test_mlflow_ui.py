"""The UI that is installed with MLflow still knows the names on which `ldep_pipeline.compat.mlflow_ui` relies."""

from __future__ import annotations

from pathlib import Path

import mlflow
import pytest

from ldep_pipeline.compat import mlflow_ui

NAMES = {
    mlflow_ui.VIEW.rstrip("."),
    mlflow_ui.KIND,
    mlflow_ui.KIND_OF_TRAINING,
    mlflow_ui.SHARE_KEY,
    mlflow_ui.WORKFLOW,
    mlflow_ui.WORKFLOW_OF_TRAINING,
    *mlflow_ui.GroupedView("title", "dataset", "winner", ["accuracy"], ascending=False, summary="max").state(),
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
