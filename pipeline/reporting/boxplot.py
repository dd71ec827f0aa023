"""A box plot per model over the data sets, which the figures of scores and of times share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pipeline.reporting import drawing, labels


def draw(values: pd.DataFrame, models: Sequence[str], xlabel: str, logarithmic: bool = False) -> Figure:
    """Draw one horizontal box per model, the first on top, with a point per data set."""
    with drawing.style():
        figure, axes = drawing.figure(drawing.WIDTH, drawing.height_of(len(models)))
        for place, model in enumerate(reversed(models)):
            numbers, colour = values[model].dropna().to_numpy(), drawing.colour(labels.family(model))
            axes.boxplot(
                numbers,
                positions=[place],
                orientation="horizontal",
                widths=0.6,
                patch_artist=True,
                showfliers=False,
                boxprops={"facecolor": drawing.transparent(colour, 0.18), "edgecolor": colour},
                medianprops={"color": colour, "linewidth": 2},
                whiskerprops={"color": colour},
                capprops={"color": colour},
                manage_ticks=False,
            )
            # The points are spread in a fixed order, so that equal ones remain visible.
            heights = place + np.linspace(-0.2, 0.2, len(numbers))
            axes.scatter(numbers, heights, s=6, color=colour, linewidths=0, alpha=0.7)
        axes.set_yticks(range(len(models)), [labels.label(model) for model in reversed(models)])
        axes.set(xlabel=xlabel, ylim=(-0.6, len(models) - 0.4))
        drawing.horizontal(axes)
        if logarithmic:
            axes.set_xscale("log")
            drawing.plain_numbers(axes.xaxis)
        return figure
