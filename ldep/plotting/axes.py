"""What all pictures share: axes to draw on, and colours."""

from __future__ import annotations

RISE, FALL, NEUTRAL = "#c2571a", "#1f5fa8", "#5a5a5a"
# One light and one dark shade per class, for areas and for points.
AREAS = ("#cfe0f3", "#f7dcc8", "#d9ead3", "#e6d9f0", "#fbeec2", "#dddddd")
POINTS = ("#1f5fa8", "#c2571a", "#3f7f2f", "#6f3f9f", "#9f7f0f", "#444444")


def axes_for(ax, width: float, height: float):
    """The given axes, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install matplotlib.") from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def without_frame(ax) -> None:
    """Leave the lines that carry a scale."""
    ax.spines[["top", "right"]].set_visible(False)
