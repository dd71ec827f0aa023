"""dvc.yaml as DVC runs it: the real command, in a copy of the project's pipeline."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from tests.support.copies import on_path

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent


def dvc(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": on_path(folder)}
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


def ran(output: str) -> list[str]:
    return re.findall(r"Running stage '(.+)'", output)


def test_repro_once_then_nothing_then_only_what_changed(dvc_project):
    first = dvc(dvc_project, "repro", "impute", "split")
    for stage in ("fetch@haberman", "fetch@mine", "impute", "split"):
        assert f"Running stage '{stage}'" in first
    for name in ("haberman", "mine"):
        assert (dvc_project / f"data/imputed/{name}.parquet").is_file()
        assert (dvc_project / f"data/folds/{name}.csv").is_file()

    assert ran(dvc(dvc_project, "repro", "impute", "split")) == ["check"]

    haberman = (dvc_project / "data/imputed/haberman.parquet").read_bytes()
    mine = (dvc_project / "data/imputed/mine.parquet").read_bytes()
    with (dvc_project / "data/own/my.csv").open("a") as file:
        file.write("99,a\n")
    again = dvc(dvc_project, "repro", "impute")
    assert ran(again) == ["check", "fetch@mine", "impute"]
    assert (dvc_project / "data/imputed/mine.parquet").read_bytes() != mine
    assert (dvc_project / "data/imputed/haberman.parquet").read_bytes() == haberman


def test_preparing_does_not_depend_on_the_time_of_fetching():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    for stage in ("impute", "split"):
        assert not [dep for dep in stages[stage]["deps"] if dep == "data" or dep.startswith("data/provenance")]
