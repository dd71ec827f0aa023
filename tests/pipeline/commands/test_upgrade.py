"""`ldep upgrade`: what another version of ldep, of a package or of the settings would compute again, and why."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import yaml

from ldep_pipeline.commands import init, upgrade
from ldep_pipeline.commands.main import main


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A project with two data sets, whose stages have run with what `ldep check` has written."""
    monkeypatch.chdir(tmp_path)
    own = {name: {"path": f"{name}.csv", "target": "label"} for name in ("one", "two")}
    values = {"datasets": ["one", "two"], "own_data": own, "models": ["svc"]}
    values["classifiers"] = {"svc": {"class": "sklearn.svm.SVC"}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(values))
    assert main(["check"]) == 0
    lock()
    return tmp_path


def lock() -> None:
    """Write dvc.lock as DVC would after a run of `train` and `register`."""
    stages = {}
    for stage in ("train", "register"):
        for path in Path("data/decides", stage).glob("*.json"):
            md5 = hashlib.md5(path.read_bytes()).hexdigest()
            stages[f"{stage}@{path.stem}"] = {"cmd": "x", "deps": [{"path": str(path), "hash": "md5", "md5": md5}]}
    Path("dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}))


def as_before(stage: str, name: str, change) -> None:
    """Let the stage have run with something else."""
    path = Path(f"data/decides/{stage}/{name}.json")
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


def test_the_version_that_computed_everything_changes_nothing(project, capsys):
    assert main(["upgrade"]) == 0
    assert "runs no stage again" in capsys.readouterr().out


def test_it_names_stages_data_sets_and_reasons(project, capsys):
    def change(values):
        values["code"]["ldep.solvers"] = "another"
        values["versions"]["numpy"] = "1.0"
        values["settings"]["tuning"]["trials"] = 7

    as_before("train", "two", change)
    lock()
    assert main(["upgrade"]) == 3
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  train")]
    assert line.startswith("  train of two: the code of ldep.solvers; numpy 1.0 -> ")
    assert line.endswith("the settings tuning.trials")


def test_what_decided_before_is_found_in_the_cache_of_dvc(project, capsys):
    old = Path("data/decides/train/one.json").read_bytes()
    md5 = hashlib.md5(old).hexdigest()
    cached = Path(".dvc/cache/files/md5", md5[:2], md5[2:])
    assert main(["set", "tuning.folds=4"]) == 0
    assert main(["check"]) == 0  # the folder has the new content
    assert main(["upgrade"]) == 3
    assert "what decided it before is in neither data/decides nor DVC's cache" in capsys.readouterr().out
    cached.parent.mkdir(parents=True)
    cached.write_bytes(old)
    assert main(["upgrade"]) == 3
    assert "  train of one, two: the settings tuning.folds" in capsys.readouterr().out


def test_a_file_that_was_edited_is_named_and_kept(project, capsys):
    Path("Dockerfile").write_text("FROM scratch\n")
    assert main(["upgrade"]) == 3
    assert "Dockerfile differs from that of this version, or you have edited it" in capsys.readouterr().out
    assert Path("Dockerfile").read_text() == "FROM scratch\n"


def test_it_shows_the_changelog_since_the_version_of_the_project(project, capsys):
    text = init.content("x")["requirements.txt"]
    Path("requirements.txt").write_text(text)
    assert main(["upgrade"]) == 0
    old = text.replace(f"=={upgrade.ldep_pipeline.__version__}", "==0.0.1")
    Path("requirements.txt").write_text(old)
    capsys.readouterr()
    assert main(["upgrade"]) == 3
    assert "## [0.1.0]" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["[]", "stages: 3", "stages: {train: {deps: [{path: 3}]}}", "stages: {a: null}"])
def test_a_damaged_lock_is_named(project, capsys, text):
    Path("dvc.lock").write_text(text)
    assert main(["upgrade"]) == 1
    assert "dvc.lock is not as DVC writes it" in capsys.readouterr().err


def test_where_nothing_was_computed_it_says_so(project, capsys):
    Path("dvc.lock").unlink()
    assert main(["upgrade"]) == 1
    assert "nothing has been computed in this project; run `dvc repro`" in capsys.readouterr().err
