"""The context of a Docker image that MLflow generates: the model, its code and its requirements, and nothing absolute.

No daemon is needed up to here. `test_environment.py` installs such requirements and loads the model with its own code.
"""

from __future__ import annotations

import re
from pathlib import Path

from mlflow.models.flavor_backend_registry import get_flavor_backend
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from ldep.table import TableEncoder
from ldep_pipeline.serving import mlflow_folder
from tests.support import registered


def test_the_context_of_an_image_is_complete(tmp_path):
    frame = registered.rows(60).astype({"grade": "category", "colour": "category"})
    pipe = Pipeline([("encode", TableEncoder(None, scale=False)), ("model", LogisticRegression())])
    pipe.fit(frame.drop(columns="sold"), frame["sold"].to_numpy(dtype=str))
    class_path = "sklearn.linear_model.LogisticRegression"
    mlflow_folder.write(tmp_path / "model", pipe, None, class_path, ship_code=True)
    backend = get_flavor_backend(str(tmp_path / "model"), docker_build=True, env_manager=None)
    backend.generate_dockerfile(str(tmp_path / "model"), str(tmp_path / "image"))
    dockerfile = (tmp_path / "image/Dockerfile").read_text()
    assert str(tmp_path) not in dockerfile
    (copy,) = re.findall("^COPY (.+) /opt/ml/model$", dockerfile, re.MULTILINE)
    copied = tmp_path / "image" / copy
    assert (copied / "code/ldep_pipeline/serving/mlflow_folder.py").is_file()
    assert (copied / "code/ldep/__init__.py").is_file()
    assert _files(copied) >= _files(tmp_path / "model")
    assert "scikit-learn==" in (copied / "requirements.txt").read_text()


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}
