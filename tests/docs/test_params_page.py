"""docs/params.md lists every key of params.yaml, with its default."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

import yaml
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from pipeline.config.params import Params
from tests.support import pages

PAGE = pages.ROOT / "docs/params.md"
# What stands in the page for a name of the user's.
PLACE = {"own_data": "NAME", "classifiers": "NAME", "search": "PARAMETER"}


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each key with its default; a section by its keys alone."""
    for field_name, field in model.model_fields.items():
        name = field.alias or field_name
        inner = section(field.annotation)
        if inner is None or name in PLACE or field.default in (None, PydanticUndefined):
            yield prefix + name, "required" if field.is_required() else field.get_default(call_default_factory=True)
        if inner is not None:
            yield from keys(inner, f"{prefix}{name}." + (f"{PLACE[name]}." if name in PLACE else ""))


def section(annotation: Any) -> type[BaseModel] | None:
    """The section that a field holds: as it is, or none, or by names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(section, get_args(annotation))), None)


def rows() -> dict[str, str]:
    table = PAGE.read_text(encoding="utf-8").split("## Environment")[0]
    return dict(re.findall(r"^\| `([^`]+)` \| (`[^`]*`|required) \|", table, flags=re.MULTILINE))


def test_every_key_is_there_and_no_other():
    assert set(rows()) == {key for key, _ in keys(Params)}


def test_defaults_are_those_of_the_program():
    for key, default in keys(Params):
        shown = rows()[key]
        if shown.startswith("`"):
            # YAML would take a lone comma for a part of its syntax.
            text = shown.strip("`")
            assert (text if isinstance(default, str) else yaml.safe_load(text)) == default, key
        else:
            assert shown == default, key


def test_the_walk_finds_what_is_nested():
    found = {key for key, _ in keys(Params)}
    assert {"data.source", "own_data.NAME.path", "classifiers.NAME.search.PARAMETER.low"} <= found
    assert "classifiers.NAME.budget.seconds" in found
    assert "register.margin" in found
