"""A project in a temporary folder, with a cache of the openml client and a server of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from pipeline import catalogue
from pipeline.__main__ import main
from pipeline.sources import keel, openml
from tests.openml_server import OpenMLServer, description, running


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder; HOME, the client's settings and its cache are in the temporary folder too."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "cache"))
    point_client_at(tmp_path, "http://127.0.0.1:9")  # no test asks the real OpenML: nothing listens here
    return folder


@pytest.fixture
def write_params(project: Path) -> Callable[..., None]:
    def write(**sections: object) -> None:
        values = {"data": {"source": "auto", "timeout": 1, "retries": 0}, "datasets": ["haberman"], **sections}
        (project / "params.yaml").write_text(yaml.safe_dump(values))

    return write


@pytest.fixture
def server(tmp_path: Path, project: Path, write_params: Callable[..., None]) -> Iterator[OpenMLServer]:
    """A server that the client is pointed at by its own settings file, holding haberman."""
    write_params()
    with running() as server:
        point_client_at(tmp_path, server.url)
        server.sets[43] = ("haberman", "Survival_status", haberman_arff())
        yield server


@pytest.fixture
def cache(server: OpenMLServer) -> Path:
    """The cache of the client for this server, which already holds another set."""
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


def point_client_at(tmp_path: Path, url: str) -> None:
    settings = tmp_path / "config" / "openml" / "config"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f"server = {url}/api/v1/xml\n")


def haberman_arff() -> bytes:
    """OpenML's haberman, made from the packaged rows, so that no data set needs to lie in this repository."""
    frame, _ = keel.fetch(catalogue.entry("haberman"))
    lines = ["@RELATION haberman"]
    for name in frame.columns:
        kind = "numeric"
        if str(frame[name].dtype) == "category":
            kind = "{" + ",".join(frame[name].cat.categories) + "}"
        lines.append(f"@ATTRIBUTE {name} {kind}")
    lines.append("@DATA")
    lines += [
        ",".join(f"{cell:g}" if isinstance(cell, float) else cell for cell in row)
        for row in frame.itertuples(index=False)
    ]
    return ("\n".join(lines) + "\n").encode()


def fill_cache(folder: Path, dataset_id: int, name: str, target: str, arff: bytes) -> Path:
    """Put a set into a cache of the client as the client would."""
    held = folder / "datasets" / str(dataset_id)
    held.mkdir(parents=True)
    (held / "dataset.arff").write_bytes(arff)
    (held / "description.xml").write_bytes(description(dataset_id, name, target, arff, "http://127.0.0.1:9/none"))
    return held


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with its content; locks are empty and may stay."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in (".lock", ".log")
    }


def edit(arff: bytes, old: str, new: str) -> bytes:
    assert old.encode() in arff
    return arff.replace(old.encode(), new.encode(), 1)


def assert_nothing_written(cache: Path, before: dict[str, bytes]) -> None:
    assert snapshot(cache) == before
    assert not Path("data/raw").exists()
    assert not Path("data/provenance").exists()


@pytest.fixture(scope="session")
def registered_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose models are registered; to be read, not changed."""
    from tests.pipeline import registered

    return registered.make(tmp_path_factory.mktemp("registered"))
