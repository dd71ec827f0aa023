"""Projects in temporary folders, with their own openml cache and OpenML server."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from ldep_pipeline.commands.main import main
from ldep_pipeline.data.sources import openml
from tests.support import copies
from tests.support.openml_files import fill_cache, haberman_arff, point_client_at
from tests.support.openml_server import OpenMLServer, running

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder; HOME, the client's settings and its cache are in the temporary folder too."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "cache"))
    point_client_at(tmp_path, "http://127.0.0.1:9")  # nothing listens here, so no test reaches the real OpenML
    return folder


@pytest.fixture
def write_params(project: Path) -> Callable[..., None]:
    def write(**sections: object) -> None:
        values = {"data": {"source": "auto", "timeout": 30, "retries": 0}, "datasets": ["haberman"], **sections}
        (project / "params.yaml").write_text(yaml.safe_dump(values))

    return write


@pytest.fixture
def server(tmp_path: Path, project: Path, write_params: Callable[..., None]) -> Iterator[OpenMLServer]:
    """An OpenML server with haberman; the settings file of the openml client points to it."""
    write_params()
    with running() as server:
        point_client_at(tmp_path, server.url)
        server.sets[43] = ("haberman", "Survival_status", haberman_arff())
        yield server


@pytest.fixture
def cache(server: OpenMLServer) -> Path:
    """The openml cache for this server, with another data set in it."""
    folder = openml.cache_folder().parent
    fill_cache(folder, 40, "sonar", "Class", b"@RELATION sonar\n")
    return folder


@pytest.fixture
def ldep(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Callable[..., tuple[int, str, str]]:
    """Run the command; return its exit code, its output, and its log with its errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        caplog.clear()
        capsys.readouterr()
        code = main(arguments)
        output = capsys.readouterr()
        return code, output.out, caplog.text + output.err

    return run


@pytest.fixture(scope="session")
def registered_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with registered models. Tests may read it, and must not change it."""
    from tests.support import registered

    return registered.make(tmp_path_factory.mktemp("registered"))


@pytest.fixture
def trained_project(registered_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trained copy of that project with a registry of its own, which is empty; it is the working folder."""
    from tests.support import registered

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    folder = registered.copy_without_versions(registered_project, tmp_path / "project")
    monkeypatch.chdir(folder)
    return folder


COPIED = (
    "pipeline",
    "own_models",
    "data/own",
    ".dvc/config",
    ".dvc/.gitignore",
    ".dvcignore",
    "dvc.yaml",
)


@pytest.fixture
def dvc_project(project: Path) -> Path:
    """A git repository with the pipeline and two small data sets: one from a package, one from a CSV file."""
    copies.copy(COPIED, project)
    values = yaml.safe_load((ROOT / "params.yaml").read_text())
    values["datasets"] = ["haberman", "mine"]
    values["data"] = {"source": "offline"}
    values["own_data"] = {"mine": {"path": "data/own/my.csv", "target": "label"}}
    (project / "params.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    (project / "data/own/my.csv").write_text(
        "size,label\n" + "".join(f"{i * i % 11},{'ab'[i % 2]}\n" for i in range(20))
    )
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "start"],
    ):
        subprocess.run(["git", *command], cwd=project, check=True)
    return project
