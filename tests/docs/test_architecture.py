"""docs/architecture.md names every stage, room and package, and shows the layers that import-linter checks."""

from __future__ import annotations

import re

import yaml

from tests.support import pages
from tools import rooms

PAGE = pages.ROOT / "docs/architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")
STAGES = list(yaml.safe_load((pages.ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"])
LAYERS = rooms.layers((pages.ROOT / rooms.PROJECT).read_text(encoding="utf-8"))


def first_column(header: str) -> list[str]:
    """The names in the first column of the table with this header."""
    table = TEXT.partition(header)[2].partition("\n\n")[0]
    return re.findall(r"^\| `([\w.]+)` \|", table, flags=re.MULTILINE)


def test_table_lists_the_stages_in_the_order_of_dvc_yaml():
    assert first_column("| stage | reads | does | writes |") == STAGES


def test_table_lists_the_rooms_from_top_to_bottom():
    assert first_column("| room | content |") == [room for layer in LAYERS for room in layer]


def test_table_lists_the_packages_of_the_library():
    packages = {path.parent.name for path in pages.ROOT.glob("ldep/*/__init__.py")}
    assert set(first_column("| package | content |")) == {f"ldep.{package}" for package in packages}


def test_drawing_of_the_rooms_is_that_of_the_layers():
    drawing = (pages.ROOT / rooms.DRAWING).read_text(encoding="utf-8")
    assert drawing == rooms.draw(LAYERS, rooms.contents(TEXT)), "run: python -m tools.rooms"


def test_drawing_of_the_data_flow_shows_every_stage():
    """`check` has no box: it stands in that of params.yaml."""
    drawing = (pages.ROOT / "docs/images/architecture.svg").read_text(encoding="utf-8")
    assert [stage for stage in STAGES if f">{stage}<" not in drawing] == ["check"]


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
    # An output is a path, or a mapping from its path to its options.
    written = {
        name: [path for entry in stage["outs"] for path in (entry if isinstance(entry, dict) else [entry])]
        for name, stage in stages.items()
    }
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
