"""docs/params.md lists every key of params.yaml, with its default."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

import yaml
from pydantic import BaseModel

from ldep_pipeline.config.params import Params
from ldep_pipeline.fitting.specs import Costs
from ldep_pipeline.metrics.metric import METRICS
from tests.support import pages

PAGE = pages.ROOT / "docs/params.md"
# Placeholders in the page for names that the user chooses.
PLACEHOLDERS = {"own_data": "NAME", "classifiers": "NAME", "search": "PARAMETER"}


# A data set has the keys of these sections again; the page lists them once.
SECTIONS = {field.annotation for field in Params.model_fields.values()} | {Costs}


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each key with its default. A section is not listed itself, unless it is optional or a mapping from names."""
    for field_name, field in model.model_fields.items():
        name = field.alias or field_name
        default = "required" if field.is_required() else field.get_default(call_default_factory=True)
        inner = section(field.annotation)
        if inner is None or name in PLACEHOLDERS or default in (None, "required", []):
            yield prefix + name, default
        if inner is not None and not (prefix.startswith("own_data") and inner in SECTIONS):
            yield from keys(inner, f"{prefix}{name}." + (f"{PLACEHOLDERS[name]}." if name in PLACEHOLDERS else ""))


def section(annotation: Any) -> type[BaseModel] | None:
    """The section class inside an annotation such as `Section`, `Section | None` or `dict[str, Section]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(section, get_args(annotation))), None)


def rows() -> dict[str, str]:
    table = PAGE.read_text(encoding="utf-8").split("## Metrics")[0]
    return dict(re.findall(r"^\| `([^`]+)` \| (`[^`]*`|required) \|", table, flags=re.MULTILINE))


def test_page_lists_exactly_the_keys_of_params():
    assert set(rows()) == {key for key, _ in keys(Params)}


def test_page_shows_the_default_of_each_key():
    for key, default in keys(Params):
        shown = rows()[key]
        if shown.startswith("`"):
            text = shown.strip("`")  # a lone comma is not valid YAML, so strings are compared as they are
            assert (text if isinstance(default, str) else yaml.safe_load(text)) == default, key
        else:
            assert shown == default, key


def test_page_lists_exactly_the_metrics_with_range_and_meaning():
    table = PAGE.read_text(encoding="utf-8").split("## Metrics")[1].split("\n## ")[0]
    shown = re.findall(r"^\| `([^`]+)` \| (.+) \| (.+) \|$", table, flags=re.MULTILINE)
    assert shown == [(name, f"{metric.low:g} to {metric.high:g}", metric.meaning) for name, metric in METRICS.items()]


def test_walk_finds_nested_keys():
    found = {key for key, _ in keys(Params)}
    assert {"data.source", "own_data.NAME.path", "classifiers.NAME.search.PARAMETER.low"} <= found
    assert "classifiers.NAME.budget.seconds" in found
    assert "register.margin" in found
