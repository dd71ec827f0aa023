"""dvc.yaml as DVC runs it: the real command, in a copy of the project's pipeline."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


@pytest.fixture
def copy(project: Path) -> Path:
    """A git repository with the pipeline, on two small sets: a packaged one and a file of the user's."""
    for name in ("pipeline", "data/own", ".dvc/config", ".dvc/.gitignore", ".dvcignore", "dvc.yaml"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, project / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, project / name)
    values = yaml.safe_load((ROOT / "params.yaml").read_text())
    values["datasets"] = ["haberman", "mine"]
    values["data"] = {"source": "offline"}
    values["own_data"] = {"mine": {"path": "data/own/my.csv", "target": "label"}}
    (project / "params.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    (project / "data/own/my.csv").write_text("size,label\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(20)))
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "start"],
    ):
        subprocess.run(["git", *command], cwd=project, check=True)
    return project


def dvc(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(folder)}
    names = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "t")
    names |= dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "t@example.org")
    done = subprocess.run(
        [str(BIN / "dvc"), *arguments],
        cwd=folder,
        env={**environment, **names},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_repro_once_then_nothing_then_only_what_changed(copy):
    first = dvc(copy, "repro", "impute", "split")
    for stage in ("fetch@haberman", "fetch@mine", "impute", "split"):
        assert f"Running stage '{stage}'" in first
    for name in ("haberman", "mine"):
        assert (copy / f"data/imputed/{name}.parquet").is_file()
        assert (copy / f"data/folds/{name}.csv").is_file()

    assert "Running stage" not in dvc(copy, "repro", "impute", "split")

    haberman = (copy / "data/imputed/haberman.parquet").read_bytes()
    mine = (copy / "data/imputed/mine.parquet").read_bytes()
    with (copy / "data/own/my.csv").open("a") as file:
        file.write("99,a\n")
    again = dvc(copy, "repro", "impute")
    assert "Running stage 'fetch@mine'" in again
    assert "Running stage 'impute'" in again
    assert (copy / "data/imputed/mine.parquet").read_bytes() != mine
    assert (copy / "data/imputed/haberman.parquet").read_bytes() == haberman


def test_preparing_does_not_depend_on_the_time_of_fetching():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    for stage in ("impute", "split"):
        assert not [dep for dep in stages[stage]["deps"] if dep == "data" or dep.startswith("data/provenance")]


def test_an_experiment_may_choose_the_sets(copy):
    output = dvc(copy, "exp", "run", "-S", "datasets=[haberman]", "split")
    assert "Running stage 'fetch@haberman'" in output
    assert "fetch@mine" not in output
    assert [path.name for path in (copy / "data/folds").iterdir()] == ["haberman.csv"]
