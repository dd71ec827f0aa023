"""The checks before a commit, and that CI runs the supported versions of Python."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from tools import commit_message, text_files

ROOT = Path(__file__).parents[2]
REPOS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
HOOKS = [hook for repo in REPOS for hook in repo["hooks"]]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"one\ntwo\n", []),
        (b"\x00 \n binary ", []),
        (b"one \ntwo\n", ["1: trailing blanks"]),
        (b"one\r\n", ["1: trailing blanks"]),
        (b"one\n<<<<<<< HEAD\n", ["2: a conflict marker"]),
        (b"one\ntwo", ["2: no newline at the end of the file"]),
        (b"one\n\n", ["2: blank lines at the end of the file"]),
        (b"\x00" * 1_000_001, ["1: 1000001 bytes are too many for the repository"]),
    ],
)
def test_text_files_are_checked(content, expected):
    assert list(text_files.problems(content)) == expected


def test_the_repository_passes_the_check_of_text_files():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is not a git repository")
    (hook,) = [hook for hook in HOOKS if hook["id"] == "text-files"]
    files = [ROOT / name for name in listed.stdout.splitlines() if not re.search(hook["exclude"], name)]
    problems = [f"{file}:{line}" for file in files if file.is_file() for line in text_files.problems(file.read_bytes())]
    assert problems == []


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Fix the scaler\n\nIt saw the test rows.\n# comment\n", None),
        ("x" * 72, None),
        ("", "the subject is empty"),
        ("x" * 73, "the subject has 73 characters"),
        ("Fix the scaler.", "full stop"),
        ("Fix the scaler\nIt saw", "the second line is not blank"),
    ],
)
def test_commit_messages_are_checked(message, expected):
    found = commit_message.problem(message)
    assert found is None if expected is None else expected in str(found)


def test_hooks_run_offline_with_the_versions_of_the_lock():
    assert [repo["repo"] for repo in REPOS] == ["local"]
    assert all(hook["entry"].startswith(".venv/bin/") for hook in HOOKS)


def test_ci_runs_every_supported_python():
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    job = workflow["jobs"]["test"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert job["strategy"]["matrix"]["python"] == supported
    assert job["steps"][-1]["run"].endswith(" test")
    assert workflow["jobs"]["lowest"]["steps"][-1]["run"].endswith(" lowest-test")
    assert project["requires-python"] == f">={supported[0]}"
