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
