"""docs/extending.md is carried out from top to bottom, in a copy of the project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tests.support import copies, pages
from tests.support.snippets import overlaid

PAGE = pages.ROOT / "docs/extending.md"
FUTURE = "from __future__ import annotations\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A copy of the two packages, with a command `ldep` that runs the copy."""
    folder = tmp_path_factory.mktemp("project")
    copies.copy(copies.SOURCES, folder)
    (folder / "data/own").mkdir(parents=True)
    command = folder / "bin/ldep"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ldep_pipeline.commands.main "$@"\n')
    command.chmod(0o755)
    return folder


def test_every_step_of_the_page_works(project):
    for block in pages.blocks(PAGE):
        if block.language == "yaml":
            change_params(project, block)
        elif block.language == "python":
            change_code(project, block.text)
        else:
            run(project, block)
    table = pd.read_csv(project / "results/haberman/results.csv")
    assert table.loc[table["metric"] == "mcc", "value"].notna().all()
    assert set(pd.read_csv(project / "results/irises/results.csv")["status"]) == {"ok"}
    assert 'id="accuracy_on_folds"' in (project / "report/report.html").read_text(encoding="utf-8")


def change_params(project: Path, block: pages.Block) -> None:
    """Replace the sections of params.yaml that the block names. Models and classifiers of earlier blocks stay."""
    path = project / "params.yaml"
    values = overlaid(block.text)
    if path.is_file():
        before = yaml.safe_load(path.read_text())
        values["models"] = before["models"]
        values["classifiers"] |= before["classifiers"]
    # Without the network, and without the time that a process pool and stored models take.
    if "data" not in yaml.safe_load(block.text):
        values["data"] = {"source": "offline"}
    values |= {"execution": {"seed": 0, "n_jobs": 1}, "tracking": {"models": False}}
    path.write_text(yaml.safe_dump(values, sort_keys=False))


def change_code(project: Path, block: str) -> None:
    """Create the file that the first line names; or, if the block elides existing code, add the lines shown."""
    heading, _, code = block.partition("\n")
    path = project / heading.removeprefix("# ")
    if "..." not in code.splitlines():
        assert not path.exists()
        path.write_text(code)
        return
    imports, addition = code.split("...\n", maxsplit=1)
    text = path.read_text().replace(FUTURE, f"{FUTURE}\n{imports}", 1)
    path.write_text(extended(text, addition))


def extended(text: str, addition: str) -> str:
    """The code with more entries in a table, or with another last line before which new functions are defined."""
    opening, *elided = re.split(r"    \.\.\.\n[)}]\n", addition)
    if elided:
        first_line, entries = opening.split("\n", maxsplit=1)
        assert text.count(f"{first_line}\n") == 1
        return text.replace(f"{first_line}\n", f"{first_line}\n{entries}")
    name = addition.splitlines()[-1].partition(" = ")[0]
    (before,) = (line for line in text.splitlines() if line.startswith(f"{name} = "))
    return text.replace(before, addition)


def run(project: Path, block: pages.Block) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"} | {
        "PATH": f"{project / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": copies.on_path(project),
    }
    done = subprocess.run(
        ["sh", "-e"], input=block.text, cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
