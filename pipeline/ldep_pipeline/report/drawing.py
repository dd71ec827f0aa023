"""The look of the figures, and how they are saved.

The same numbers give the same bytes. A figure is drawn once, in the colours of the light theme; in its SVG file each
of them is a CSS variable, which the file defines for both themes and which a page may define itself.
"""

from __future__ import annotations

import io
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from ldep_pipeline.common.files import replacing, write_text
from ldep_pipeline.compat import matplotlib_svg

# CSS variable: colour on light, colour on dark. The hues differ for colour-blind readers, too (after Okabe and Ito).
THEME = {
    "ink": ("#1d2433", "#e8ebf0"),
    "muted": ("#5d6878", "#a7b0bd"),
    "grid": ("#dde2e9", "#39414d"),
    "ldep": ("#0b6cad", "#6ab7f2"),
    "svc": ("#c26a00", "#f0a94d"),
    "network": ("#00805e", "#45c79e"),
    "trees": ("#a8901a", "#dcc54e"),
    "linear": ("#b3503c", "#ee8f78"),
    "relative": ("#98508a", "#d795c8"),
    "other": ("#7b8593", "#99a3b1"),
}
INK, MUTED, GRID = THEME["ink"][0], THEME["muted"][0], THEME["grid"][0]
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
WIDTH = 5.4  # inches: half of the page
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


def style() -> AbstractContextManager[None]:
    """Draw and save figures inside this context."""
    return matplotlib.rc_context(STYLE)


def figure(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """A figure and its axes, an array of rows x columns where there are several."""
    drawn = Figure(figsize=(width, height), layout="constrained")
    return drawn, drawn.subplots(rows, columns, **options)


def height_of(rows: int) -> float:
    """The height of a figure with one line per model."""
    return 0.9 + 0.29 * rows


def colour(family: str) -> str:
    return THEME[family][0]


def transparent(colour: str, opacity: float) -> tuple[float, float, float, float]:
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue, opacity


def horizontal(axes: Axes) -> None:
    """The look of a chart with one line per model: no vertical axis, no ticks."""
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)
    axes.tick_params(length=0)


def plain_numbers(*scales: Axis) -> None:
    """Label a logarithmic scale with 0.01, 0.1, 1, ..."""
    for scale in scales:
        scale.set_major_formatter(FuncFormatter(_plain_number))
        scale.set_minor_locator(NullLocator())  # they would cost as much as everything else, and show nothing


def hide_unused(panels: np.ndarray, used: int) -> None:
    """Hide the last panels of a grid, and label the axes of the panels above them."""
    columns = panels.shape[1]
    for place, axes in enumerate(panels.flat):
        if place >= used:
            axes.set_visible(False)
        elif place + columns >= used:
            axes.tick_params(labelbottom=True)


def save(drawn: Figure, name: str, vector_folder: Path, bitmap_folder: Path | None) -> str:
    """Write NAME.svg and, if it has a folder, NAME.png; return the SVG for a page that defines the colours itself."""
    with style():
        text = io.StringIO()
        drawn.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None}, dpi=90)
        if bitmap_folder is not None:
            drawn.set_layout_engine("none")  # the layout is computed: once is enough
            with replacing(bitmap_folder / f"{name}.png") as part:
                drawn.savefig(part, format="png", facecolor="white", dpi=150, metadata={"Software": None})
    variables = {light: variable for variable, (light, _) in THEME.items()}
    svg = matplotlib_svg.themed(text.getvalue(), name, variables, "var(--font)")
    write_text(vector_folder / f"{name}.svg", matplotlib_svg.with_style(svg, theme_css()))
    return svg


def theme_css() -> str:
    """The colours as CSS variables, for readers who prefer a light or a dark page."""
    light = "".join(f"--{variable}:{on_light};" for variable, (on_light, _) in THEME.items())
    dark = "".join(f"--{variable}:{on_dark};" for variable, (_, on_dark) in THEME.items())
    return f":root{{--font:{FONT};{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"


def _plain_number(value: float, _position: int) -> str:
    return f"{value:g}"
