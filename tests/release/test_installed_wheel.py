"""The wheels in dist/ work in empty environments, far from the repository: `make wheel-test`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import make_moons

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[2]
PARAMS = """
own_data:
  moons: {path: data/own/moons.csv, target: label}
datasets: [moons]
models: [ldep]
classifiers:
  ldep: {class: ldep.LDEPClassifier, params: {r1: 3, r2: 3}}
"""


def environment(folder: Path, *distributions: str) -> Path:
    """Install wheels into a new environment; return the folder of its commands."""
    wheels = [wheel for name in distributions for wheel in (ROOT / "dist").glob(f"{name}-*.whl")]
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    bin_ = folder / "venv/bin"
    subprocess.run([bin_ / "pip", "install", "--quiet", "--disable-pip-version-check", *wheels], check=True)
    return bin_


def run(command: list[object], folder: Path, code: int = 0) -> str:
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MLFLOW_TRACKING_URI")}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_library_works_without_the_pipeline(tmp_path):
    bin_ = environment(tmp_path, "ldep")
    code = (
        "import ldep; from ldep import LDEPClassifier; from sklearn.datasets import make_moons; "
        "X, y = make_moons(200, noise=0.1, random_state=0); "
        "print(ldep.__file__, LDEPClassifier(alpha=0.1, random_state=0).fit(X, y).score(X, y) > 0.98)"
    )
    output = run([bin_ / "python", "-c", code], tmp_path)
    assert str(tmp_path) in output
    assert output.strip().endswith("True")
    installed = run([bin_ / "pip", "list", "--format", "freeze"], tmp_path)
    assert "mlflow" not in installed


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("pipeline")
    return environment(folder, "ldep", "ldep_pipeline"), folder


def test_the_command_trains_registers_and_scores(pipeline):
    bin_, folder = pipeline
    assert "register" in run([bin_ / "ldep", "--help"], folder)
    assert "acute-inflammations" in run([bin_ / "ldep", "datasets"], folder)
    (folder / "data/own").mkdir(parents=True)
    X, y = make_moons(200, noise=0.1, random_state=0)
    frame = pd.DataFrame(X, columns=["left", "right"]).assign(label=["yes" if one else "no" for one in y])
    frame.to_csv(folder / "data/own/moons.csv", index=False)
    (folder / "params.yaml").write_text(PARAMS)
    for stage in ("fetch", "impute", "split", "train", "register"):
        run([bin_ / "ldep", stage], folder)
    run([bin_ / "ldep", "score", "models:/ldep-moons@champion", "data/own/moons.csv", "scored.csv"], folder)
    scored = pd.read_csv(folder / "scored.csv")
    assert (scored["class"] == frame["label"]).mean() > 0.95


def test_a_missing_params_yaml_is_an_error(pipeline):
    bin_, folder = pipeline
    empty = folder / "empty"
    empty.mkdir()
    assert "make a project with `ldep init`" in run([bin_ / "ldep", "fetch"], empty, code=1)
