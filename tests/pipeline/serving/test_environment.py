"""A registered model answers in an environment that pip builds from the model's own requirements: `make serve-test`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ldep_pipeline.registry import download
from ldep_pipeline.stages import register
from tests.support import registered

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[3]
URI = f"models:/ldep-{registered.NAME}@champion"


@pytest.mark.parametrize("ship_code", [False, True])
def test_a_model_loads_in_an_environment_of_its_own_requirements(trained_project, tmp_path, ship_code):
    """With the package of its version or, if the model carries its code, without."""
    register.run(registered.NAME, registered.with_candidates("ldep", ship_code=ship_code))
    model = tmp_path / "model"
    with download.checked_copy(URI) as folder:
        shutil.copytree(folder, model)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    scripts = tmp_path / "venv" / "bin"
    subprocess.run([scripts / "pip", "install", "-q", "-r", model / "requirements.txt"], check=True)
    if not ship_code:
        subprocess.run([scripts / "pip", "install", "-q", "--no-deps", ROOT, ROOT / "pipeline"], check=True)
    frame = registered.rows(40, seed=4).drop(columns="sold")
    frame.to_csv(tmp_path / "in.csv", index=False)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = f"{scripts}{os.pathsep}/usr/bin{os.pathsep}/bin"
    options = ["-m", model, "-i", "in.csv", "-t", "csv", "-o", "out.json", "--env-manager", "local"]
    subprocess.run([scripts / "mlflow", "models", "predict", *options], cwd=tmp_path, env=environment, check=True)
    answers = json.loads((tmp_path / "out.json").read_text())["predictions"]
    assert answers == download.load(URI).predict(frame)
