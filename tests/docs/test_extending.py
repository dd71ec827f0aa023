"""docs/extending.md works as written: a reader who does what it says, from top to bottom, ends with a working project.

The blocks of the page are carried out in a copy of the project:

- yaml: the sections replace those of params.yaml;
- python: the first line is a comment with a path; the block becomes that file, or is added to its end if it exists;
- diff: applied by `git apply`;
- sh: run by `sh -e`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tests.support import pages
from tests.support.snippets import overlaid

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
    for block in pages.blocks(PAGE):
        if block.language == "yaml":
            change_params(copy, block)
        elif block.language == "python":
            with (copy / block.text.splitlines()[0].removeprefix("# ")).open("a", encoding="utf-8") as file:
                file.write(block.text)
        elif block.language == "diff":
            run(copy, ["git", "apply", "-"], block.text)
        elif block.language == "sh":
            run(copy, ["sh", "-e"], block.text)
    table = pd.read_csv(copy / "results/haberman/results.csv")
    assert table.loc[table["metric"] == "mcc", "value"].notna().all()
    assert set(pd.read_csv(copy / "results/irises/results.csv")["status"]) == {"ok"}


def change_params(copy: Path, block: pages.Block) -> None:
    """Put the snippet into params.yaml, as the reader would; models of earlier snippets stay."""
    path = copy / "params.yaml"
    values = overlaid(block.text)
    if path.is_file():
        before = yaml.safe_load(path.read_text())
        values["models"] = before["models"]
        values["classifiers"] |= before["classifiers"]
    # No network; and no worker processes and stored models, which take time.
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
