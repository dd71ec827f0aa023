"""One page that needs nothing but itself: text, tables, pictures, style and script in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

from pipeline.reporting import drawing, labels, table1
from pipeline.reporting.figures import amount
from pipeline.reporting.summary import p_text

FOLDER = Path(__file__).parent


def render(template: str, **values: Any) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(label=labels.label, family=labels.family, title_of=labels.title, p=p_text, amount=amount,
                               signed=table1.signed)  # fmt: skip
    style = drawing.variables() + (FOLDER / "page.css").read_text(encoding="utf-8")
    script = (FOLDER / "page.js").read_text(encoding="utf-8")
    return environment.get_template(template).render(style=style, script=script, **values)
