"""The command `ldep explore`: a model as one HTML page to play with, which opens offline."""

from __future__ import annotations

import base64
import json
import logging
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup
from sklearn.preprocessing import StandardScaler

from ldep.export.piecewise import NotExportable
from ldep.probability import OPEN_VOTES
from pipeline.common.errors import UserError
from pipeline.common.files import write_text
from pipeline.encoding import cells, columns, dates
from pipeline.encoding.columns import Date
from pipeline.registry import download
from pipeline.serving.portable import Column, Portable, portable
from pipeline.serving.served_model import ServedModel

log = logging.getLogger(__name__)
FOLDER = Path(__file__).parent / "explore_page"
SCRIPTS = ("model.js", "counterfactual.js", "page.js")
# Numbers beyond this size are stored with 7 digits instead of 16, to keep the page small.
LARGEST_EXACT = 150_000  # bytes
LONGEST_SHEET = 20_000  # characters


def run(uri: str, target: Path, root: Path = Path()) -> None:
    """Write the page of a models:/ address or of a folder."""
    if target.suffix not in (".html", ".htm"):
        raise UserError(f"{target}: the page is an .html file; name it so.")
    served = download.load(uri, root)
    try:
        model = portable(served)
    except NotExportable as error:
        raise UserError(f"{uri} cannot be explored: {error}") from None
    text = page(model, uri, rule_sheet(served, model))
    write_text(target, text)
    log.info("%s: %.0f kB. Open it in a browser.", target, len(text.encode()) / 1000)


def rule_sheet(served: ServedModel, model: Portable) -> str | None:
    """Return the rules of a single model about its raw features; None for an ensemble, or if nobody would read them."""
    if not hasattr(served.model, "rules"):
        return None
    scalers = [step for _, step in served.rest.steps if isinstance(step, StandardScaler)]
    sheet = served.model.rules(scaler=scalers[0] if scalers else None)
    text = str(replace(sheet, names=served.features, size=model.scale))
    return text if len(text) <= LONGEST_SHEET else None


def page(model: Portable, title: str, rules: str | None = None) -> str:
    """Return the page, with nothing to load from elsewhere."""
    numbers = as_json(model)
    environment = jinja2.Environment(autoescape=True)
    template = environment.from_string((FOLDER / "page.html").read_text(encoding="utf-8"))
    parts = model.model
    kind = "a single ℓ-DEP" if len(parts.weights) == 1 else f"an ensemble of {len(parts.weights)} ℓ-DEPs"
    precision = "" if numbers["bits"] == 64 else " Its numbers are rounded to seven digits."
    return template.render(
        title=title,
        subtitle=f"This model is {kind} with {len(parts.offsets)} affine pieces.{precision}",
        rules=rules,
        css=Markup((FOLDER / "page.css").read_text(encoding="utf-8")),
        script=Markup("\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)),
        data=Markup(json.dumps(numbers, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")),
    )


def as_json(portable_model: Portable) -> dict[str, Any]:
    """Return the numbers of a model as plain values; arrays are base64."""
    model = portable_model.model
    bits = 64 if 8 * model.slopes.size <= LARGEST_EXACT else 32
    arrays = {
        "slopes": model.slopes,
        "offsets": model.offsets,
        "ownOffsets": model.own_offsets,
        "shifts": model.shifts,
    }
    return {
        "classes": [str(label) for label in model.classes],
        "columns": [_column(column, portable_model) for column in portable_model.columns],
        "recipe": [list(feature) for feature in portable_model.features],
        "labels": [label for column in portable_model.columns for label, _ in columns.labels([column.fitted])],
        "fill": portable_model.fill.tolist(),
        "mean": portable_model.mean.tolist(),
        "scale": portable_model.scale.tolist(),
        "center": model.center.tolist(),
        "sizes": model.sizes.ravel().tolist(),
        "weights": model.weights.tolist(),
        "clipped": model.clipped,
        "threshold": model.threshold,
        "link": None if model.link is None else {**model.link._asdict(), "openVotes": OPEN_VOTES},
        "bits": bits,
        **{name: _base64(values, bits) for name, values in arrays.items()},
    }


def _base64(values: np.ndarray, bits: int) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=f"<f{bits // 8}").tobytes()).decode()


def _choices(categories: list[str]) -> list[str | None]:
    """The text of each code; None for a category that no cell can have."""
    codes = set(cells.code_table(tuple(categories)).values())
    return [text if code in codes else None for code, text in enumerate(categories)]


def _column(column: Column, model: Portable) -> dict[str, Any]:
    """A column with the range of its slider: three standard deviations around the mean, in round numbers."""
    fill = model.fill[column.features]
    content: dict[str, Any] = {"name": column.name, "kind": column.kind, "first": column.first, "categories": None}
    if column.categories is not None:
        codes = np.array(sorted(set(cells.code_table(tuple(column.categories)).values())))
        features = column.fitted.features(codes)
        typical = codes[np.abs(features - fill[: features.shape[1]]).sum(axis=1).argmin()]
        return content | {"categories": _choices(column.categories), "values": column.values, "typical": int(typical)}
    if isinstance(column.fitted, Date):
        # The slider has one step per day; the days are a feature, so their spread is known.
        position = column.first + column.fitted.parts.index("days")
        mean, scale = (dates.DAY * values[position] for values in (model.mean, model.scale))
        typical, low, high = (dates.DAY * round((mean + side * 3 * scale) / dates.DAY) for side in (0, -1, 1))
        return content | {"typical": float(typical), "low": float(low), "high": float(high), "step": float(dates.DAY)}
    mean, scale = model.mean[column.first], model.scale[column.first]
    digits = -math.floor(math.log10(6 * scale / 100))
    low, high = (round(mean + side * 3 * scale, digits) for side in (-1, 1))
    return content | {"typical": round(float(fill[0]), digits), "low": low, "high": high, "step": 10.0**-digits}
