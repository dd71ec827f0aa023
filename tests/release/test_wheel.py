"""The content of the wheels. `make wheel-test` checks that installed wheels work."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

import ldep
import ldep_pipeline
from tests.support import copies

ROOT = Path(__file__).parents[2]
PACKAGES = {"ldep": ROOT, "ldep_pipeline": ROOT / "pipeline"}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> dict[str, zipfile.ZipFile]:
    """The wheels, built from a copy: setuptools leaves files beside the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    copies.copy(copies.WHEEL_SOURCES, source)
    command = ["pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder]
    subprocess.run([sys.executable, "-m", *command, source, source / "pipeline"], check=True, capture_output=True)
    return {path.name.partition("-")[0]: zipfile.ZipFile(path) for path in folder.glob("*.whl")}


def metadata(wheels: dict[str, zipfile.ZipFile], package: str) -> str:
    return wheels[package].read(f"{package}-{ldep.__version__}.dist-info/METADATA").decode()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_wheel_has_its_package_with_its_data_and_nothing_else(wheels, package):
    expected = {
        path.relative_to(PACKAGES[package]).as_posix()
        for path in (PACKAGES[package] / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in wheels[package].namelist() if ".dist-info/" not in name} == expected
    assert any(name.endswith(".yaml") for name in expected) == (package == "ldep_pipeline")


def test_the_library_needs_four_packages_and_has_its_licence(wheels):
    required = re.findall(r"^Requires-Dist: (\w[\w-]*)[^;\n]*$", metadata(wheels, "ldep"), flags=re.MULTILINE)
    assert set(required) == {"numpy", "scipy", "scikit-learn", "threadpoolctl"}
    assert f"ldep-{ldep.__version__}.dist-info/licenses/LICENSE" in wheels["ldep"].namelist()


def test_the_application_has_the_command_and_needs_its_own_version_of_the_library(wheels):
    entry_points = wheels["ldep_pipeline"].read(f"ldep_pipeline-{ldep.__version__}.dist-info/entry_points.txt")
    assert "ldep = ldep_pipeline.commands.main:main" in entry_points.decode()
    assert f"Requires-Dist: ldep=={ldep.__version__}" in metadata(wheels, "ldep_pipeline")


def test_the_version_is_the_same_everywhere():
    assert ldep_pipeline.__version__ == ldep.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == ldep.__version__
    assert f"## [{ldep.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_paper_is_cited():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    (paper,) = citation["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Oliveira", "Valle"]
    assert paper["url"] == "https://arxiv.org/abs/2011.06512"
