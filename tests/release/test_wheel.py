"""The content of the wheel. `make wheel-test` checks that an installed wheel works."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

import ldep

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    """The wheel, built from a copy: setuptools leaves files beside the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for package in ("ldep", "pipeline"):
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = ["pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder, source]
    subprocess.run([sys.executable, "-m", *command], check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return zipfile.ZipFile(made)


def test_the_wheel_has_both_packages_with_their_data_and_nothing_else(wheel):
    expected = {
        path.relative_to(ROOT).as_posix()
        for package in ("ldep", "pipeline")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == expected
    assert "pipeline/config/catalogue.yaml" in expected


def test_the_wheel_has_the_command_the_licence_and_the_extras(wheel):
    info = f"ldep-{ldep.__version__}.dist-info"
    assert "ldep = pipeline.commands.main:main" in wheel.read(f"{info}/entry_points.txt").decode()
    assert f"{info}/licenses/LICENSE" in wheel.namelist()
    metadata = wheel.read(f"{info}/METADATA").decode()
    required = re.findall(r"^Requires-Dist: (\w[\w-]*)[^;\n]*$", metadata, flags=re.MULTILINE)
    assert set(required) == {"numpy", "scipy", "scikit-learn", "threadpoolctl"}
    assert "Provides-Extra: pipeline" in metadata


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == ldep.__version__
    assert f"## [{ldep.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_paper_is_cited():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    (paper,) = citation["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Oliveira", "Valle"]
    assert paper["url"] == "https://arxiv.org/abs/2011.06512"
