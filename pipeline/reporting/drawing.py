"""Pictures that are the same to the byte for the same numbers, and readable on light and on dark ground.

A picture is drawn once, in the colours of the light theme. In the SVG file each of them becomes a CSS variable, which
the file defines for both themes, and which a page may define itself.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from pipeline.files import replacing, write_text

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
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
STYLE = {
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


def save(made: Figure, folder: Path, name: str) -> str:
    """Write NAME.svg and NAME.png; return the SVG for a page that defines the colours itself."""
    with style():
        text = io.StringIO()
        made.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None}, dpi=150)
        with replacing(folder / f"{name}.png") as part:
            made.savefig(part, format="png", facecolor="white", dpi=150, metadata={"Software": None})
    svg = _themed(text.getvalue(), name)
    write_text(folder / f"{name}.svg", svg.replace("<defs>", f"<style>{variables()}</style><defs>", 1))
    return svg


def variables() -> str:
    """The colours as CSS, by what the reader prefers."""
    light = "".join(f"--{key}:{value[0]};" for key, value in THEME.items())
    dark = "".join(f"--{key}:{value[1]};" for key, value in THEME.items())
    return f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"


def _themed(svg: str, name: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for key, (light, _) in THEME.items():
        svg = svg.replace(light, f"var(--{key})")
    svg = svg.replace("'DejaVu Sans'", FONT.replace("'", "&apos;"))
    # Two pictures in one page must not share ids.
    svg = re.sub(r'id="(\w+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'href="#(\w+)"', rf'href="#{name}-\1"', svg)
    svg = re.sub(r"url\(#(\w+)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r'<svg ([^>]*?)width="[\d.]+pt" height="[\d.]+pt"', r"<svg \1", svg, count=1)
    svg = re.sub(r'height="[\d.]+pt" |width="[\d.]+pt" ', "", svg, count=2)
    return re.sub(r"\n\s*", "\n", svg)
