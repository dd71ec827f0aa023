"""The page on the architecture knows every stage and every module."""

from __future__ import annotations

import re

import yaml

from tests.support import pages

PAGE = (pages.ROOT / "docs/architecture.md").read_text(encoding="utf-8")


def test_every_stage_is_named():
    for stage in yaml.safe_load((pages.ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]:
        assert f"`{stage}`" in PAGE, stage


def test_every_module_of_the_pipeline_has_its_place_once():
    table = PAGE.partition("| modules | hold |")[2].partition("\n\n")[0]
    named = [name for row in table.splitlines()[2:] for name in re.findall(r"`([\w/]+)`", row.split("|")[1])]
    modules = {path.stem for path in pages.ROOT.glob("pipeline/[a-z]*.py")}
    folders = {f"{path.parent.name}/" for path in pages.ROOT.glob("pipeline/*/__init__.py")}
    assert sorted(named) == sorted(modules | folders)
