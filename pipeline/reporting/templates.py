"""Fills the templates of the pages, with style and script inside: a page needs no other file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

from pipeline.reporting import drawing, labels, summary

FOLDER = Path(__file__).parent


def fill(template: str, **values: Any) -> str:
    """Text of a page; an undefined value is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([FOLDER, FOLDER / "own"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(label=labels.label, p=summary.p_text, count_of=labels.count_of)
    environment.filters["capitalize_first"] = _capitalize_first
    style = drawing.theme_css() + (FOLDER / "page.css").read_text(encoding="utf-8")
    script = (FOLDER / "page.js").read_text(encoding="utf-8")
    return environment.get_template(template).render(style=style, script=script, **values)


def _capitalize_first(text: str) -> str:
    """Unlike Jinja's `capitalize`, leaves the other letters as they are."""
    return text[:1].upper() + text[1:]
