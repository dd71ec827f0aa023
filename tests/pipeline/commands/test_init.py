"""`ldep init`: a project of the user's from the installed package, in which nothing that was there is touched."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ldep_pipeline.commands import init
from ldep_pipeline.commands.main import main
from ldep_pipeline.config import params

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
ROWS = "age,plan,churned\n" + "".join(f"{20 + i % 41},{'abc'[i % 3]},{'ny'[i % 41 > 19]}\n" for i in range(90))


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def dvc(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [str(BIN / "dvc"), *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A new project. Tests may read it."""
    folder = tmp_path_factory.mktemp("made") / "churn"
    assert main(["init", str(folder)]) == 0
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_new_project_has_every_file_a_git_repository_and_dvc(made):
    assert {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()} >= set(init.PLACES.values())
    assert git(made, "rev-parse", "--show-toplevel").strip() == str(made.resolve())
    assert dvc(made, "config", "core.analytics").strip().lower() == "false"
    assert params.load(made / "params.yaml").datasets == []
    assert (made / "README.md").read_text().startswith("# churn\n")


def test_the_cache_that_dvc_unpickles_is_closed_to_others_before_dvc_uses_it(made):
    assert stat.S_IMODE((made / ".ldep/dvc").stat().st_mode) == 0o700
    dvc(made, "status")
    assert stat.S_IMODE((made / ".ldep/dvc").stat().st_mode) == 0o700


def test_a_project_has_the_stages_of_this_repository(made):
    assert (made / "dvc.yaml").read_bytes() == (ROOT / "dvc.yaml").read_bytes()


def test_every_file_of_the_package_has_a_place(made):
    templates = {path.name for path in init.TEMPLATES.iterdir()} - {"changelog.md"}
    assert templates == set(init.PLACES)
    for name in ("compose.yaml", ".github/workflows/repro.yml"):
        assert yaml.safe_load((made / name).read_text())
    assert "{" not in (made / "requirements.txt").read_text()


def test_raw_data_is_not_in_git_and_the_rest_is(made, tmp_path):
    git(tmp_path, "clone", "--quiet", str(made), "clone")
    clone = tmp_path / "clone"
    for name in init.PLACES.values():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_bytes((made / name).read_bytes())
    for name in ("data/own/a.csv", "data/own/a.csv.dvc", "data/raw/a.parquet", ".env", "tokens.txt", "dvc.lock"):
        (clone / name).parent.mkdir(exist_ok=True)
        (clone / name).touch()
    git(clone, "add", "-A")
    added = set(git(clone, "ls-files").split())
    assert added == {*init.PLACES.values(), "data/own/a.csv.dvc", "dvc.lock"}


def test_in_a_repository_it_adds_and_overwrites_nothing(here, capsys):
    git(here, "init", "--quiet")
    mine = {"README.md": "# Mine\n", ".gitignore": "*.log\n", "dvc.yaml": "stages: {}\n", "data/own/a.csv": "a\n"}
    for name, text in mine.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)
    assert main(["init"]) == 0
    printed = capsys.readouterr().out
    assert {name: (here / name).read_text() for name in mine} == mine
    assert "dvc.yaml is left as it is: it needs the stages of" in printed
    assert ".gitignore is left as it is: add these lines to it:" in printed
    assert "/data/own/*" in printed
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert main(["init"]) == 0
    assert "is a project already" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_a_project_may_be_a_folder_of_a_repository(here):
    git(here, "init", "--quiet")
    assert main(["init", "models/churn"]) == 0
    assert not (here / "models/churn/.git").exists()
    assert dvc(here / "models/churn", "root").strip() == "."


@pytest.mark.parametrize(
    ("file", "folder", "message"),
    [
        ("taken", "taken", "taken is a file; name a folder"),
        ("taken", "taken/project", "taken is a file, so"),
        ("project/params.yaml/x", "project", "params.yaml is a folder, and the project needs a file"),
        ("project/data", "project", "data is a file, so"),
    ],
)
def test_what_is_in_the_way_is_one_sentence_and_nothing_is_written(here, capsys, file, folder, message):
    (here / file).parent.mkdir(parents=True, exist_ok=True)
    (here / file).write_text("mine")
    before = sorted(here.rglob("*"))
    assert main(["init", folder]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert sorted(here.rglob("*")) == before


def test_outside_of_a_project_and_in_a_folder_of_one_it_is_said_where_to_go(made, here, monkeypatch, capsys):
    assert main(["check"]) == 1
    assert "make a project with `ldep init`" in capsys.readouterr().err
    monkeypatch.chdir(made / "data/own")
    assert main(["check"]) == 1
    assert f"run this in {made}" in capsys.readouterr().err


def test_without_a_data_set_the_stages_say_what_to_do(made, monkeypatch, capsys):
    monkeypatch.chdir(made)
    assert main(["check"]) == 1
    assert "params.yaml has no data set yet; add one: ldep new NAME FILE --target COLUMN" in capsys.readouterr().err


def test_a_file_outside_the_project_is_refused_before_anything_is_computed(here, monkeypatch, capsys):
    (here / "rows.csv").write_text(ROWS)
    (here / "project/data/own").mkdir(parents=True)
    monkeypatch.chdir(here / "project")
    text = "datasets: [churn]\nown_data: {churn: {path: %s, target: churned}}\n"
    for path in ("../rows.csv", here / "rows.csv"):
        Path("params.yaml").write_text(text % path)
        assert main(["check"]) == 1
        assert f"own_data.churn.path: {path} is outside the project" in capsys.readouterr().err
    assert not Path("data/decides").exists()


def test_from_init_to_a_report_and_to_a_colleague(here, monkeypatch):
    """As a user would: init, new, dvc repro. Then a colleague clones it, and pulls, and computes nothing."""
    (here / "rows.csv").write_text(ROWS)
    assert main(["init", "churn"]) == 0
    monkeypatch.chdir(here / "churn")
    assert main(["new", "churn", "../rows.csv", "--target", "churned", "--suite", "quick"]) == 0
    settings = ["own_data.churn.models=[logistic]", "tracking.enabled=false", "execution.n_jobs=1", "split.folds=2"]
    assert main(["set", *settings]) == 0
    dvc(Path(), "repro")
    assert json.loads(Path("metrics/sets/churn.json").read_text())["logistic"] > 0.9
    assert Path("report/churn.html").is_file()
    git(Path(), "add", "-A")
    assert "data/own/churn.csv" not in git(Path(), "ls-files").split()
    dvc(Path(), "remote", "add", "--default", "shared", str(here / "remote"))
    dvc(Path(), "push")
    git(Path(), "add", "-A")
    git(Path(), "commit", "--quiet", "-m", "Results")
    git(here, "clone", "--quiet", str(here / "churn"), "clone")
    dvc(here / "clone", "pull")
    assert dvc(here / "clone", "repro").count("Running stage") == 1  # check
    assert (here / "clone/report/churn.html").read_bytes() == Path("report/churn.html").read_bytes()
    assert (here / "clone/data/own/churn.csv").read_text() == ROWS
    assert main(["upgrade"]) == 0
