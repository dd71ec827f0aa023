"""A project that was moved, renamed or copied: no command touches the artifacts of another folder, and one mends it."""

from __future__ import annotations

import shutil
from pathlib import Path

import mlflow
import pytest

from ldep_pipeline.commands.main import main
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.registry import download
from ldep_pipeline.stages import register
from ldep_pipeline.tracking import connection
from tests.support import registered

URI = f"models:/{registered.MODEL}@champion"


@pytest.fixture
def copied(registered_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What `cp -a` makes of a project; it is the working folder. The name of its folder has to be escaped in a URI."""
    folder = tmp_path / "a copy, 50%"
    shutil.copytree(registered_project, folder, ignore=shutil.ignore_patterns("*.log"))
    enter(folder, monkeypatch)
    return folder


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it the working folder. MLflow has put the store of the one before into the environment."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(folder)


def files(folder: Path) -> dict[str, bytes]:
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.endswith(".log")}


def test_no_command_uses_the_artifacts_of_the_original(copied, registered_project, capsys):
    before, original = files(copied), files(registered_project)
    Path("rows.csv").write_text("width\n1\n")
    for command in (
        ["register", registered.NAME],
        ["train", registered.NAME],
        ["score", URI, "rows.csv", "out.csv"],
        ["ui"],
    ):
        assert main(command) == 1
        message = capsys.readouterr().err
        assert f"mlflow.db was moved or copied: it names the artifacts in {registered_project}/mlartifacts" in message
        assert "`ldep relocate`" in message
    (copied / "rows.csv").unlink()
    assert files(registered_project) == original
    assert {name: content for name, content in files(copied).items() if not name.startswith(".ldep/")} == {
        name: content for name, content in before.items() if not name.startswith(".ldep/")
    }


def test_a_copy_is_mended_and_works_alone(copied, registered_project, monkeypatch, capsys):
    original = files(registered_project)
    rows = registered.rows(5).drop(columns="sold")
    expected = download.load(URI, registered_project).predict(rows)
    enter(copied, monkeypatch)
    assert main(["relocate"]) == 0
    assert f"named the artifacts in {registered_project}/mlartifacts" in capsys.readouterr().out
    assert download.load(URI, copied).predict(rows) == expected
    assert registered.stored_files(registered.MODEL, "1").is_relative_to(copied)
    register.run(registered.NAME, registered.with_candidates("linear"), promote=True)
    assert registered.aliases()["champion"] == "2"
    assert registered.stored_files(registered.MODEL, "2").is_relative_to(copied)
    assert files(registered_project) == original
    assert main(["relocate"]) == 0
    assert "nothing was changed" in capsys.readouterr().out


def test_a_moved_project_does_not_make_its_old_folder_again(copied, tmp_path, monkeypatch):
    assert main(["relocate"]) == 0
    moved = copied.rename(tmp_path / "moved")
    enter(moved, monkeypatch)
    assert main(["register", registered.NAME]) == 1
    assert not copied.exists()
    assert main(["relocate"]) == 0
    assert download.load(URI, moved).classes == ["no", "yes, sold"]
    assert not copied.exists()
    version = mlflow.MlflowClient().get_model_version(registered.MODEL, "1")
    assert version.tags["ldep.owner"] == connection.owner(moved)


def test_a_database_without_its_artifacts_is_not_relocated(copied, registered_project):
    shutil.rmtree(copied / "mlartifacts")
    with pytest.raises(UserError, match=r"mlartifacts does not exist: move or copy it from .*/mlartifacts first"):
        connection.relocate(copied)
    with pytest.raises(UserError, match="was moved or copied"):
        connection.use_existing(copied)


@pytest.mark.parametrize("use", [lambda root: connection.connect("suite", root), connection.use_existing])
def test_a_folder_in_the_place_of_the_database_is_reported_at_once(tmp_path, monkeypatch, use):
    """MLflow tries again for 106 s, and says nothing."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "mlflow.db").mkdir()
    with pytest.raises(UserError, match=r"mlflow\.db is a folder, and should be a file"):
        use(tmp_path)
