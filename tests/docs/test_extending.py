"""docs/extending.md as it stands, from top to bottom, in a copy of the project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tests.docs.test_code import overlaid
from tests.support import pages

PAGE = pages.ROOT / "docs/extending.md"


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    for package in ("ldep", "pipeline"):
        shutil.copytree(pages.ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "data/own").mkdir(parents=True)
    command = folder / "bin/ldep"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pipeline.commands.main "$@"\n')
    command.chmod(0o755)
    return folder


def test_the_page_works_as_written(copy):
    done = {block.language: 0 for block in pages.blocks(PAGE)}
    for block in pages.blocks(PAGE):
        if block.language == "yaml":
            keep(copy, block)
        elif block.language == "python":
            path = copy / block.text.splitlines()[0].removeprefix("# ")
            path.write_text(block.text)
        elif block.language == "diff":
            run(copy, ["git", "apply", "-"], block.text)
        else:
            run(copy, ["sh", "-e"], block.text)
        done[block.language] += 1
    assert done == {"yaml": 3, "python": 1, "diff": 2, "sh": 5}
    table = pd.read_csv(copy / "results/haberman/results.csv")
    assert table.loc[table["metric"] == "mcc", "value"].notna().all()
    assert set(pd.read_csv(copy / "results/irises/results.csv")["status"]) == {"ok"}


def keep(copy: Path, block: pages.Block) -> None:
    """Put the snippet into params.yaml, as the reader would; what it leaves out stays."""
    path = copy / "params.yaml"
    values = overlaid(block.text)
    if path.is_file():
        before = yaml.safe_load(path.read_text())
        values["models"] = before["models"]
        values["classifiers"] |= before["classifiers"]
    # No network, and none of the time that a pool and stored models take.
    values |= {"data": {"source": "offline"}, "execution": {"seed": 0, "n_jobs": 1}, "tracking": {"models": False}}
    path.write_text(yaml.safe_dump(values, sort_keys=False))


def run(copy: Path, command: list[str], text: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"} | {
        "PATH": f"{copy / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(copy),
        "GIT_CEILING_DIRECTORIES": str(copy.parent),
    }
    done = subprocess.run(command, input=text, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
