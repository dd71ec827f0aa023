"""Pictures that are the same to the byte for the same numbers, and readable on light and on dark ground.

A picture is drawn once, in the colours of the light theme. In the SVG file each of them becomes a CSS variable, which
the file defines for both themes, and which a page may define itself.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from pipeline.common.files import replacing, write_text

# Variable: on light, on dark. The hues are told apart by people who do not see all colours (after Okabe and Ito).
THEME = {
    "ink": ("#1d2433", "#e8ebf0"),
    "muted": ("#5d6878", "#a7b0bd"),
    "grid": ("#dde2e9", "#39414d"),
    "ldep": ("#0b6cad", "#6ab7f2"),
    "svc": ("#c26a00", "#f0a94d"),
    "network": ("#00805e", "#45c79e"),
    "relative": ("#98508a", "#d795c8"),
    "other": ("#7b8593", "#99a3b1"),
}
INK, MUTED, GRID = THEME["ink"][0], THEME["muted"][0], THEME["grid"][0]
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "ldep",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": GRID,
    "axes.labelsize": 9,
    "axes.titlesize": 9,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 9,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.labelcolor": MUTED,
}


def colour(family: str) -> str:
    return THEME[family][0]


def figure(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """A figure and its axes, an array of rows x columns where there are several. Draw inside `style()`."""
    made = Figure(figsize=(width, height), layout="constrained")
    return made, made.subplots(rows, columns, **options)


def style() -> Any:
    return matplotlib.rc_context(STYLE)


def plain_numbers(*scales: Any) -> None:
    """0.01, 0.1, 1, ... on a logarithmic scale."""
    for scale in scales:
        scale.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        scale.set_minor_formatter(NullFormatter())


def save(made: Figure, folder: Path, name: str) -> str:
    """Write NAME.svg and NAME.png; return the SVG for a page that defines the colours itself."""
    with style():
        text = io.StringIO()
        made.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None}, dpi=90)
        made.set_layout_engine("none")  # it is laid out: once is enough
        with replacing(folder / f"{name}.png") as part:
            made.savefig(part, format="png", facecolor="white", dpi=150, metadata={"Software": None})
    svg = _themed(text.getvalue(), name)
    write_text(folder / f"{name}.svg", svg.replace("<style>", f"<style>{variables()}", 1))
    return svg


def variables() -> str:
    """The colours as CSS, by what the reader prefers."""
    light = "".join(f"--{key}:{value[0]};" for key, value in THEME.items())
    dark = "".join(f"--{key}:{value[1]};" for key, value in THEME.items())
    return f":root{{--font:{FONT};{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"


def _themed(svg: str, name: str) -> str:
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    for key, (light, _) in THEME.items():
        svg = svg.replace(light, f"var(--{key})")
    svg = svg.replace("'DejaVu Sans'", "var(--font)")
    svg = re.sub(r'(<g) id="[^"]*"| transform="rotate\(-0 [^"]*"', r"\1", svg).replace("<g/>", "")
    # Two pictures in one page must not share ids.
    svg = re.sub(r'(id="|href="#|url\(#)(\w+)', rf"\g<1>{name}-\g<2>", svg)
    # A tenth of a point is enough for what is drawn. The text between the tags keeps its numbers.
    svg = re.sub(r' (?:d|x|y)="[^"]*"', lambda held: _short(held[0]), svg)
    svg = _with_classes(re.sub(r"\n\s*", "\n", svg), name)
    # As wide as the page allows, up to a little more than it was drawn.
    width = float(re.findall(r'width="([\d.]+)pt"', svg)[0]) * 4 / 3
    return re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', rf'<svg xmlns="{SVG}" xmlns:xlink="{XLINK}" \1 '
                  f'style="max-width:{1.15 * width:.0f}px">', svg, count=1)  # fmt: skip


def _short(numbers: str) -> str:
    return re.sub(r"\s*([MLCQ]) | (z)\s*", r"\1\2", re.sub(r"(\.\d)\d+", r"\1", numbers)).replace("\n", "")


def _with_classes(svg: str, name: str) -> str:
    """Styles that stand at many elements, said once: half of the size."""
    often = [text for text, count in Counter(re.findall(r' style="([^"]*)"', svg)).most_common() if count > 2]
    rules = []
    for number, text in enumerate(often):
        svg = svg.replace(f' style="{text}"', f' class="{name}-{number}"')
        rules.append(f".{name}-{number}{{{text}}}")
    return svg.replace("<defs>", f"<style>{''.join(rules)}</style><defs>", 1)
