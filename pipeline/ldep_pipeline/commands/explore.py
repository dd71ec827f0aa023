"""The command `ldep explore`: a model as one HTML page to play with, which opens offline."""

from __future__ import annotations

import base64
import json
import logging
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from ldep.export import Column, Feature, NotExportable, Program, check_no_text
from ldep.model import OPEN_VOTES
from ldep.table import Range
from ldep_pipeline.commands import CommandLine, add_model_address
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.common.files import write_text
from ldep_pipeline.registry import download
from ldep_pipeline.serving import portable
from ldep_pipeline.serving.served_model import ServedModel

log = logging.getLogger(__name__)
FOLDER = Path(__file__).parent / "explore_page"
SCRIPTS = ("model.js", "counterfactual.js", "page.js")
# Numbers beyond this size are stored with 7 digits instead of 16, to keep the page small.
LARGEST_EXACT = 150_000  # bytes
LONGEST_SHEET = 20_000  # characters
DAY = 86_400  # seconds
PACKED = ("slopes", "offsets", "own_offsets", "shifts")  # large arrays


def add_explore(parser: ArgumentParser) -> None:
    add_model_address(parser)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the .html file to write")


def explore(args: Namespace) -> None:
    run(args.model, args.out)


def run(uri: str, target: Path, root: Path = Path()) -> None:
    """Write the page of a models:/ address or of a folder."""
    if target.suffix not in (".html", ".htm"):
        raise UserError(f"{target}: the page is an .html file; name it so.")
    served = download.load(uri, root)
    try:
        program = portable.program(served)
        check_no_text(program)
    except NotExportable as error:
        raise UserError(f"{uri} cannot be explored: {error}") from None
    text = page(program, uri, rule_sheet(served), served.encoder.ranges_)
    write_text(target, text)
    log.info("%s: %.0f kB. Open it in a browser.", target, len(text.encode()) / 1000)


def rule_sheet(served: ServedModel) -> str | None:
    """Return the rules of a single model about its raw features; None for an ensemble, or if nobody would read them."""
    if not hasattr(served.model, "rules"):
        return None
    text = str(served.table.rules())
    return text if len(text) <= LONGEST_SHEET else None


def page(program: Program, title: str, rules: str | None = None, ranges: Mapping[str, Range] | None = None) -> str:
    """Return the page, with nothing to load from elsewhere. `ranges` has what the training rows hold."""
    numbers = as_json(program, ranges or {})
    environment = jinja2.Environment(autoescape=True)
    template = environment.from_string((FOLDER / "page.html").read_text(encoding="utf-8"))
    members = len(program.weights)
    kind = "a single ℓ-DEP" if members == 1 else f"an ensemble of {members} ℓ-DEPs"
    precision = "" if numbers["bits"] == 64 else " Its numbers are rounded to seven digits."
    return template.render(
        title=title,
        subtitle=f"This model is {kind} with {len(program.offsets)} affine pieces.{precision}",
        rules=rules,
        css=Markup((FOLDER / "page.css").read_text(encoding="utf-8")),
        script=Markup("\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)),
        data=Markup(json.dumps(numbers, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")),
    )


def as_json(program: Program, ranges: Mapping[str, Range]) -> dict[str, Any]:
    """Return the program as plain values, with what the controls of the page need; large arrays are base64."""
    bits = 64 if 8 * program.slopes.size <= LARGEST_EXACT else 32
    columns = []
    for place, column in enumerate(program.columns):
        features = [feature for feature in program.features if feature.column == place]
        known = ranges.get(column.name) if column.read == "number" else None
        within = {
            "range": None if known is None else [known.least, known.largest],
            "grid": known.step if known else 0.0,
        }
        shown = {"name": column.name, "read": column.read, "categories": None, **within, **_control(column, features)}
        columns.append(shown)
    content = {**program.to_json(), "columns": columns, "openVotes": OPEN_VOTES, "bits": bits}
    del content["reading"]  # a control has numbers and choices
    return content | {name: _base64(getattr(program, name), bits) for name in PACKED}


def _base64(values: np.ndarray, bits: int) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=f"<f{bits // 8}").tobytes()).decode()


def _control(column: Column, features: list[Feature]) -> dict[str, Any]:
    """The choices of a column, or the range of its slider: three standard deviations around the mean, rounded."""
    first = features[0]
    if column.read == "category":
        known = {spelling.category for spelling in column.spellings}

        def distance(category: int) -> float:
            number = column.numbers[category]
            made = [(number == one.equals if one.step == "equals" else number, one) for one in features]
            return sum(abs(value - one.fill) for value, one in made if one.step != "missing")

        choices = [text if number in known else None for number, text in enumerate(column.categories)]
        return {"categories": choices, "numbers": column.numbers, "typical": min(sorted(known), key=distance)}
    if column.read == "date":
        # The slider has one step per day; the days are a feature, so their spread is known.
        days = next(feature for feature in features if feature.step == "days")
        low, typical, high = (DAY * round(days.mean + side * 3 * days.scale) for side in (-1, 0, 1))
        return {"typical": typical, "low": low, "high": high, "step": DAY}
    digits = -math.floor(math.log10(6 * first.scale / 100))
    ends = [round(first.mean + side * 3 * first.scale, digits) for side in (-1, 1)]
    return {"typical": round(first.fill, digits), "low": ends[0], "high": ends[1], "step": 10.0**-digits}


COMMANDS = {"explore": CommandLine(add_explore, explore, "ldep explore models:/ldep-banana@champion -o banana.html")}
