"""Code in the documentation: Python blocks run and print what is shown, commands and parameters are valid."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import tomllib

import numpy as np
import pytest
import yaml

from ldep_pipeline.commands.main import OTHER_COMMANDS, STAGES, build_parser, main
from ldep_pipeline.config import params
from ldep_pipeline.execution.model_check import check_models
from tests.support import pages
from tests.support.snippets import overlaid

EXTENDING = pages.ROOT / "docs/extending.md"  # run from top to bottom by tests/docs/test_extending.py
PYTHON = [page for page in pages.WRITTEN if pages.blocks(page, "python") and page != EXTENDING]
SHELL = [block for page in pages.WRITTEN for block in pages.blocks(page, "sh")]
YAML = [block for page in pages.WRITTEN if page != EXTENDING for block in pages.blocks(page, "yaml")]
# Programs whose arguments are not checked.
OTHERS = {".", "ldep", "python", "pip", "mlflow", "curl", "docker", "grep", "dask"}
OTHERS |= {"git", "cd", "echo", "ls", "mkdir", "cp", "apt-get", "runuser", "createuser", "cat", "chmod", "export"}
DECIMAL = re.compile(r"\d+\.\d+(?:e-?\d+)?")
SOURCES = "ldep|pipeline|tests|tools|benchmarks|examples"
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
def test_python_blocks_run_and_print_the_text_below_them(page, project):
    namespace: dict[str, object] = {"__name__": "__main__"}
    with contextlib.chdir(project):
        for block, following in itertools.pairwise([*pages.blocks(page), None]):
            if block is None or block.language != "python":
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * block.line + block.text, pages.name(page), "exec"), namespace)
            if printed.getvalue() and following is not None and following.language == "text":
                check_printed(printed.getvalue(), following)


def check_printed(printed: str, block: pages.Block) -> None:
    """The words and whole numbers are those of the page, and the other numbers to three digits.

    On another kind of processor the last bits of a fit differ.
    """
    assert DECIMAL.sub("#", printed) == DECIMAL.sub("#", block.text), str(block)
    np.testing.assert_allclose(*(np.array(DECIMAL.findall(text), float) for text in (printed, block.text)), rtol=1e-3)


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_commands_can_be_parsed(block):
    for words in filter(None, pages.commands(block)):
        if words[0] == "ldep" and words[1] != "--help":
            words = list(itertools.takewhile(lambda word: word != ">", words))
            arguments = build_parser().parse_args(words[1:])  # exits if it cannot be parsed
            if words[1] == "set":
                check_keys(block, [assignment.partition("=")[0] for assignment in arguments.assignments])
        elif words[0] == "make":
            assert words[1] in targets(), f"{block}: there is no target {words[1]}"
        elif words[0] == "dvc":
            check_dvc(block, words)
        else:
            assert words[0] in OTHERS, f"{block}: {words}"


def check_dvc(block: pages.Block, words: list[str]) -> None:
    known = {"exp run", "exp show", "metrics show", "plots show", "remote add", "remote modify"}
    assert " ".join(words[1:3]) in known or words[1] in {"dag", "repro", "push", "pull"}, f"{block}: {words}"
    stages = yaml.safe_load((pages.ROOT / "dvc.yaml").read_text())["stages"]
    named = [word for word in words[2:] if not word.startswith("-")] if words[1] == "repro" else []
    for stage in named:
        assert stage.partition("@")[0] in stages, f"{block}: there is no stage {stage}"
    check_keys(block, [word.partition("=")[0] for flag, word in itertools.pairwise(words) if flag == "-S"])


def check_keys(block: pages.Block, keys: list[str]) -> None:
    values = yaml.safe_load((pages.ROOT / "params.yaml").read_text())
    for key in keys:
        if key.startswith("own_data."):  # of a data set that the reader has added before
            continue
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


@pytest.mark.parametrize("page", pages.WRITTEN, ids=pages.name)
def test_extras_named_on_the_page_exist(page):
    for distribution, extra in re.findall(r"(\bldep-pipeline|\bldep|\./pipeline)\[(\w+)\]", page.read_text("utf-8")):
        source = pages.ROOT / ("pyproject.toml" if distribution == "ldep" else "pipeline/pyproject.toml")
        project = tomllib.loads(source.read_text(encoding="utf-8"))["project"]
        assert extra in project["optional-dependencies"], f"{pages.name(page)}: {distribution}[{extra}]"


@pytest.mark.parametrize("page", pages.WRITTEN, ids=pages.name)
def test_source_files_named_on_the_page_exist(page):
    """What the project has in its repository; docs/extending.md names files that the reader creates."""
    added = [block.text for block in pages.blocks(EXTENDING, "python") if "..." not in block.text.splitlines()]
    created = {text.partition("\n")[0].removeprefix("# ") for text in added}
    named = re.findall(rf"(?<![\w./-])(?:{SOURCES})/[\w./-]*\w/?", page.read_text(encoding="utf-8"))
    for path in {*named} - created:
        assert "NAME" in path or (pages.ROOT / path).exists(), f"{pages.name(page)}: there is no {path}"


def targets() -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+):.*## ", (pages.ROOT / "Makefile").read_text(), flags=re.MULTILINE))
