"""docs/architecture.md names every stage and every room, and shows the layers that import-linter checks."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml

from tests.support import pages

PAGE = pages.ROOT / "docs/architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")
STAGES = list(yaml.safe_load((pages.ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"])
CONTRACTS = tomllib.loads((pages.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
LAYERS = next(contract["layers"] for contract in CONTRACTS["contracts"] if contract["type"] == "layers")
ROOMS = [room for layer in LAYERS for room in layer.split(" | ")]


def first_column(header: str) -> list[str]:
    """The names in the first column of the table with this header."""
    table = TEXT.partition(header)[2].partition("\n\n")[0]
    return re.findall(r"^\| `([\w/]+)` \|", table, flags=re.MULTILINE)


def test_table_lists_the_stages_in_the_order_of_dvc_yaml():
    assert first_column("| stage | reads | does | writes |") == STAGES


def test_text_block_shows_the_layers_of_pyproject():
    (block,) = pages.blocks(PAGE, "text")
    assert block.text.splitlines() == LAYERS


def test_table_lists_the_rooms_from_top_to_bottom():
    assert first_column("| room | content |") == ROOMS


@pytest.mark.parametrize(("picture", "names"), [("architecture", STAGES), ("rooms", ROOMS)])
def test_picture_shows_every_name(picture, names):
    drawing = (pages.ROOT / f"docs/images/{picture}.svg").read_text(encoding="utf-8")
    assert [name for name in names if not re.search(rf"\b{name}\b", drawing)] == []


def test_the_drawing_of_the_stages_is_that_of_dvc_yaml():
    """The drawing leaves out dependencies that follow from others, so what each stage needs in the end is compared."""
    (block,) = pages.blocks(pages.ROOT / "docs/pipeline.md", "mermaid")
    drawn = {stage: set() for stage in STAGES}
    for needed, stage in re.findall(r"^\s*(\w+) --> (\w+)$", block.text, flags=re.MULTILINE):
        drawn[stage].add(needed)
    assert all_needed(drawn) == all_needed(direct_dependencies())


def direct_dependencies() -> dict[str, set[str]]:
    """For each stage of dvc.yaml the stages that write a file, or into a folder, that it depends on."""
    stages = yaml.safe_load((pages.ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    written = {name: list(stage["outs"]) for name, stage in stages.items()}
    return {
        name: {
            other
            for other, outputs in written.items()
            if any(overlap(path, output) for path in stage.get("deps", []) for output in outputs)
        }
        for name, stage in stages.items()
    }


def overlap(path: str, output: str) -> bool:
    return path == output or path.startswith(f"{output}/") or output.startswith(f"{path}/")


def all_needed(direct: dict[str, set[str]]) -> dict[str, set[str]]:
    """What each stage needs, directly or not."""
    needed = {stage: set(stages) for stage, stages in direct.items()}
    for _ in needed:
        for stages in needed.values():
            stages |= {further for other in tuple(stages) for further in needed[other]}
    return needed
