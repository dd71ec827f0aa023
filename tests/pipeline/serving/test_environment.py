"""A registered model in an environment made from its own requirements, from the package index. Not part of `make test`:

python -m pytest tests/pipeline/check_environment.py --timeout 1800   (some minutes; needs an index)
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from pipeline.registry import download
from tests.support import registered

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
    command = [
        "models",
        "predict",
        "-m",
        model,
        "-i",
        "in.csv",
        "-t",
        "csv",
        "-o",
        "out.json",
        "--env-manager",
        "local",
    ]
    subprocess.run([Path(bin_) / "mlflow", *command], cwd=tmp_path, env=environment, check=True)
    answers = json.loads((tmp_path / "out.json").read_text())["predictions"]
    assert answers == download.load(URI, registered_project).predict(frame)
