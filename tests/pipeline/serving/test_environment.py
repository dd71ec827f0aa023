"""A registered model answers in an environment that pip builds from the model's own requirements: `make serve-test`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.registry import download
from tests.support import registered

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(1800)]
URI = f"models:/ldep-{registered.NAME}@champion"


def test_a_model_loads_in_an_environment_of_its_own_requirements(registered_project, tmp_path):
    model = tmp_path / "model"
    with download.fetched(URI, registered_project) as folder:
        shutil.copytree(folder, model)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    bin_ = tmp_path / "venv" / "bin"
    subprocess.run([bin_ / "pip", "install", "-q", "-r", model / "requirements.txt"], check=True)
    frame = registered.rows(40, seed=4).drop(columns="sold")
    frame.to_csv(tmp_path / "in.csv", index=False)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = f"{bin_}{os.pathsep}/usr/bin{os.pathsep}/bin"
    files = ["--model-uri", model, "--input-path", "in.csv", "--content-type", "csv", "--output-path", "out.json"]
    command = [Path(bin_) / "mlflow", "models", "predict", *files, "--env-manager", "local"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    answers = json.loads((tmp_path / "out.json").read_text())["predictions"]
    assert answers == download.load(URI, registered_project).predict(frame)
