"""Small pictures for the tracked runs, drawn without pyplot: no window, no state, and three times faster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from pipeline.fitting import Rows

COLOURS = ("#3b6fb6", "#d1603d")
POINTS = 1500  # of a scatter: more only hide each other


def _figure(width: float = 4, height: float = 3.2, left: float = 0.17) -> tuple[Figure, Any]:
    # A fixed frame: the layouts that matplotlib computes cost more than the drawing.
    figure = Figure(figsize=(width, height), dpi=90)
    FigureCanvasAgg(figure)
    return figure, figure.add_axes((left, 0.17, 0.95 - left, 0.71))


def confusion(counts: np.ndarray, classes: Sequence[str], title: str, path: Path) -> None:
    figure, axes = _figure()
    axes.imshow(counts / counts.sum(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=1)
    for row, column in np.ndindex(counts.shape):
        share = counts[row, column] / counts[row].sum()
        axes.text(column, row, f"{counts[row, column]}\n{share:.1%}", ha="center", va="center",
                  color="white" if share > 0.5 else "black")  # fmt: skip
    axes.set_xticks(range(len(classes)), classes)
    axes.set_yticks(range(len(classes)), classes)
    axes.set(title=title, xlabel="predicted", ylabel="true, all test folds")
    figure.savefig(path)


def boundary(held: dict[str, list[float]], rows: Rows, title: str, path: Path) -> None:
    figure, axes = _figure(5, 4)
    regions(axes, held, rows, "black")
    axes.set(title=title, xlabel=rows.columns[0], ylabel=rows.columns[1])
    axes.legend(title=rows.target, markerscale=3)
    figure.savefig(path)


def regions(
    axes: Any, held: dict[str, list[float]], rows: Rows, line: str, points: int = POINTS, size: float = 4
) -> None:
    """The two classes' regions, the boundary between them, and the rows.

    All but the boundary is pixels in a vector format, too: thousands of points would make the file large.
    """
    value = np.reshape(held["value"], (len(held["y"]), len(held["x"])))
    sides = [min(value.min(), 0.0) - 1, 0.0, max(value.max(), 0.0) + 1]
    axes.contourf(held["x"], held["y"], value, levels=sides, colors=COLOURS, alpha=0.25).set_rasterized(True)
    axes.contour(held["x"], held["y"], value, levels=[0.0], colors=line, linewidths=1, zorder=3)
    shown = slice(None, None, max(1, len(rows.y) // points))
    for label, colour in zip(np.unique(rows.y), COLOURS):
        these = rows.X[shown][rows.y[shown] == label]
        axes.scatter(these[:, 0], these[:, 1], s=size, color=colour, label=label, rasterized=True)


def history(studies: Sequence[optuna.Study], path: Path) -> None:
    """The best inner score after each trial, a line an outer fold."""
    figure, axes = _figure(5, 3.2)
    for fold, study in enumerate(studies):
        values = [t.value if t.value is not None and t.state.name == "COMPLETE" else np.nan
                  for t in study.get_trials(deepcopy=False) if t.state.name != "FAIL"]  # fmt: skip
        axes.plot(range(1, len(values) + 1), np.fmax.accumulate(values), label=f"fold {fold}")
    axes.set(title="best inner score so far", xlabel="trial", ylabel="score")
    axes.legend(fontsize="small")
    figure.savefig(path)


def importance(studies: Sequence[optuna.Study], path: Path) -> None:
    """How much each parameter matters, by PED-ANOVA, averaged over the folds' studies where it can be told."""
    found: dict[str, list[float]] = {}
    for study in studies:
        for name, value in _importances(study).items():
            found.setdefault(name, []).append(value)
    if not found:
        return
    names = sorted(found, key=lambda name: float(np.mean(found[name])))
    figure, axes = _figure(5, 1.2 + 0.3 * len(names), left=0.35)
    axes.barh(names, [float(np.mean(found[name])) for name in names], color=COLOURS[0])
    axes.set(title="importance (PED-ANOVA)")
    figure.savefig(path)


def _importances(study: optuna.Study) -> dict[str, float]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the evaluator is experimental
        try:
            return optuna.importance.get_param_importances(
                study, evaluator=optuna.importance.PedAnovaImportanceEvaluator()
            )
        except (ValueError, RuntimeError):  # all trials equal, or too few
            return {}
