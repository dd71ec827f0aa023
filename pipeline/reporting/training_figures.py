"""The pictures of the training itself: convergence, and decision boundaries of sets with two features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pipeline.config import paths
from pipeline.execution import results
from pipeline.execution.inputs import load_training_data
from pipeline.reporting import drawing, labels, run_figures
from pipeline.reporting.scores import Scores

COLUMNS = 2
POINTS = 24  # of a curve: more cannot be seen, and the page is to stay small


def convergence(sets: list[str], models: list[str], root: Path) -> Figure | None:
    """A panel a model, a line a set: the objective of fold 0 as a share of where it began."""
    folder = root / paths.RESULTS
    curves = pd.concat([results.read_curves(name, folder).assign(dataset=name) for name in sets], ignore_index=True)
    curves = curves[curves["fold"] == 0]
    shown = [model for model in models if model in set(curves["model"])]
    if not shown:
        return None
    rows = -(-len(shown) // COLUMNS)
    with drawing.style():
        made, panels = drawing.figure(5.4, 0.5 + 1.5 * rows, rows, COLUMNS, sharey=True, squeeze=False)
        for axes, model in zip(panels.flat, shown):
            for _, curve in curves[curves["model"] == model].groupby("dataset", sort=False):
                curve = curve.iloc[np.unique(np.linspace(0, len(curve) - 1, POINTS).astype(int))]
                start = curve["objective"].iloc[0]
                share = curve["objective"] / start if start > 0 else curve["objective"]
                axes.plot(curve["iteration"].clip(lower=1), share.clip(lower=1e-3), linewidth=1, alpha=0.65,
                          color=drawing.colour(labels.family(model)))  # fmt: skip
            axes.set(title=labels.label(model), xscale="log", yscale="log", ylim=(8e-4, 3))
            drawing.plain_numbers(axes.xaxis, axes.yaxis)
            axes.tick_params(length=0, which="both")
        _hide_rest(panels, len(shown))
        made.supxlabel("iteration or epoch", fontsize=9, color=drawing.MUTED)
        made.supylabel("objective, share of its start", fontsize=9, color=drawing.MUTED)
        return made


def boundaries(name: str, held: Scores, root: Path) -> Figure | None:
    """A panel a model; None if the set has not two features."""
    grids = results.read_boundaries(name, root / paths.RESULTS)
    if not grids:
        return None
    rows = load_training_data(name, root / paths.DATA)
    shown = [model for model in held.models if model in grids]
    count = -(-len(shown) // 4)
    with drawing.style():
        made, panels = drawing.figure(7.2, 0.4 + 1.75 * count, count, min(4, len(shown)), sharex=True, sharey=True,
                                      squeeze=False)  # fmt: skip
        for axes, model in zip(panels.flat, shown):
            axes.grid(visible=False)
            run_figures.regions(axes, grids[model], rows, drawing.INK, points=250, size=2)
            score = held.mean.loc[name, model]
            axes.set_title(labels.label(model) + ("" if np.isnan(score) else f" · {score:.1f}"), fontsize=8)
            axes.set(xticks=[], yticks=[])
        _hide_rest(panels, len(shown))
        made.supxlabel(rows.columns[0], fontsize=8, color=drawing.MUTED)
        made.supylabel(rows.columns[1], fontsize=8, color=drawing.MUTED)
        return made


def _hide_rest(panels: np.ndarray, used: int) -> None:
    for axes in panels.flat[used:]:
        axes.set_visible(False)
