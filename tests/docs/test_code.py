"""Code blocks in the documentation: Python blocks run, commands can be parsed, and parameters are valid."""

from __future__ import annotations

import contextlib
import itertools
import re
import shlex
from pathlib import Path

import pytest
import yaml

from pipeline.commands.main import build_parser, main
from pipeline.commands.subcommands import OTHER_COMMANDS, STAGES
from pipeline.config import params
from pipeline.config.models import check_models
from tests.support import pages
from tests.support.snippets import overlaid

EXTENDING = pages.ROOT / "docs/extending.md"  # run from top to bottom by tests/docs/test_extending.py
PYTHON = [page for page in pages.WRITTEN if pages.blocks(page, "python") and page != EXTENDING]
SHELL = [block for page in pages.WRITTEN for block in pages.blocks(page, "sh")]
YAML = [block for page in pages.WRITTEN if page != EXTENDING for block in pages.blocks(page, "yaml")]
# Programs whose arguments are not checked.
OTHERS = {".", "ldep", "python", "pip", "mlflow", "curl", "docker", "grep", "dask"}
OTHERS |= {"git", "echo", "ls", "mkdir", "cp", "apt-get", "runuser", "createuser", "cat", "chmod", "export"}
KNOWN = {"mermaid", "python", "sh", "text", "yaml", "{toctree}", "{eval-rst}"}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder in which banana is registered and haberman is imputed, as the Python blocks assume."""
    folder = tmp_path_factory.mktemp("project")
    values = {
        "data": {"source": "offline"},
        "datasets": ["banana", "haberman"],
        "models": ["ldep"],
        "classifiers": {"ldep": {"class": "ldep.LDEPClassifier", "params": {"r1": 3, "r2": 3, "n_init": 1}}},
        "split": {"folds": 2},
        "execution": {"n_jobs": 1},
        "tracking": {"models": False},
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(values))
    with contextlib.chdir(folder):
        for stage in ("fetch", "impute", "split"):
            assert main([stage]) == 0
        for stage in ("train", "register"):
            assert main([stage, "banana"]) == 0
    return folder


@pytest.mark.parametrize("page", pages.PAGES, ids=pages.name)
def test_every_block_names_a_known_language(page):
    assert {block.language for block in pages.blocks(page)} <= KNOWN


@pytest.mark.parametrize("page", PYTHON, ids=pages.name)
def test_python_blocks_run(page, project):
    namespace: dict[str, object] = {"__name__": "__main__"}
    with contextlib.chdir(project):
        for block in pages.blocks(page, "python"):
            exec(compile("\n" * block.line + block.text, pages.name(page), "exec"), namespace)


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_commands_can_be_parsed(block):
    for command in pages.commands(block):
        words = shlex.split(command.split("|")[0])
        words = list(itertools.dropwhile(is_assignment, words))  # environment variables before the command
        if not words:
            continue
        if words[0] == "ldep" and words[1] != "--help":
            arguments = build_parser().parse_args(words[1:])  # exits if it cannot be parsed
            if words[1] == "set":
                check_keys(block, [assignment.partition("=")[0] for assignment in arguments.assignments])
        elif words[0] == "make":
            assert words[1] in targets(), f"{block}: there is no target {words[1]}"
        elif words[0] == "dvc":
            check_dvc(block, shlex.split(command))
        else:
            assert words[0] in OTHERS, f"{block}: {command}"


def check_dvc(block: pages.Block, words: list[str]) -> None:
    known = {"exp run", "exp show", "metrics show", "plots show", "remote add"}
    assert " ".join(words[1:3]) in known or words[1] in {"dag", "repro", "push", "pull"}, f"{block}: {words}"
    stages = yaml.safe_load((pages.ROOT / "dvc.yaml").read_text())["stages"]
    named = [word for word in words[2:] if not word.startswith("-")] if words[1] == "repro" else []
    for stage in named:
        assert stage.partition("@")[0] in stages, f"{block}: there is no stage {stage}"
    check_keys(block, [word.partition("=")[0] for flag, word in itertools.pairwise(words) if flag == "-S"])


def is_assignment(word: str) -> bool:
    return "=" in word and not word.startswith("-")


def check_keys(block: pages.Block, keys: list[str]) -> None:
    values = yaml.safe_load((pages.ROOT / "params.yaml").read_text())
    for key in keys:
        place = values
        for part in key.split("."):
            assert part in place, f"{block}: params.yaml has no {key}"
            place = place[part]


@pytest.mark.parametrize("block", YAML, ids=str)
def test_parameters_are_valid(block):
    """A snippet replaces the sections it names and adds to the classifiers."""
    check_models(params.check(overlaid(block.text), str(block)))


@pytest.mark.parametrize("page", pages.WRITTEN, ids=pages.name)
def test_targets_and_subcommands_named_in_the_text_exist(page):
    text = pages.FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"`make ([a-z0-9-]+)", text):
        assert target in targets(), f"{pages.name(page)}: make {target}"
    subcommands = {command.name for command in (*STAGES, *OTHER_COMMANDS)}
    for command in re.findall(r"`ldep ([a-z]+)", text):
        assert command in subcommands, f"{pages.name(page)}: ldep {command}"


def targets() -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+):.*## ", Path(pages.ROOT / "Makefile").read_text(), flags=re.MULTILINE))
