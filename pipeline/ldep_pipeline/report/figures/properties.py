"""Where the ℓ-DEP wins and loses: its lead over the best other model on each data set, and against their properties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from ldep_pipeline.report import drawing, labels
from ldep_pipeline.report.figures import report_figure
from ldep_pipeline.report.labels import LEADING
from ldep_pipeline.report.report_data import ReportData

FEWEST = 5  # data sets
LOGARITHMIC = ("rows", "features", "rows per feature")
STEPS = (1, 3, 10, 30)  # of the ticks
ROW = 0.21  # inches


@dataclass(frozen=True)
class Advantage:
    """How much better our model is than the rival: the model of another family with the best mean.

    One rival for all data sets: the best of many models on each of them would have the luck of all their draws.
    """

    ours: str
    rival: str
    by_dataset: pd.Series
    equal: float
    """Leads of at most this size count as equal."""

    @property
    def colours(self) -> list[str]:
        return [drawing.colour(family) for family in np.select(self._signs, ["ldep", "svc"], "other").tolist()]

    @property
    def in_words(self) -> str:
        better, worse = (int(sign.sum()) for sign in self._signs)
        return f"better on {better}, equal on {len(self.by_dataset) - better - worse}, worse on {worse}"

    @property
    def _signs(self) -> list[pd.Series]:
        return [self.by_dataset > self.equal, self.by_dataset < -self.equal]


def lead(data: ReportData) -> Advantage | None:
    """None if there is nothing to compare, or too little."""
    scores = data.scores
    ours = next((model for model in LEADING if model in scores.complete), None)
    others = [model for model in scores.complete if labels.family(model) not in ("ldep", "relative")]
    if ours is None or not others or len(scores.datasets) < FEWEST or data.metric.is_time:
        return None
    goodness = scores.goodness
    rival = str(goodness[others].mean().idxmax())
    return Advantage(ours, rival, goodness[ours] - goodness[rival], data.metric.equal_gain)


def table_of_properties(data: ReportData) -> pd.DataFrame:
    """One row per data set: what may decide which model suits it. The error of the best model stands for the noise."""
    rows = {}
    for dataset in data.scores.datasets:
        info = data.datasets[dataset]
        sizes = list(info.classes.values())
        rows[dataset] = {
            "rows": info.rows,
            "features": info.features,
            "rows per feature": info.rows / info.features if info.rows and info.features else None,
            "nominal share, %": 100 * info.nominal / info.features
            if info.features and info.nominal is not None
            else None,
            "error of the best model, %": 100 - data.accuracies.mean.loc[dataset].max(),
            "rarer class, %": 100 * min(sizes) / sum(sizes) if sizes else None,
        }
    return pd.DataFrame.from_dict(rows, orient="index").astype(float)


@report_figure(
    "results",
    "Where the ℓ-DEP wins and where it loses",
    "How much better the ℓ-DEP is, by {metric}, than the model of another family that has the best mean. Blue: "
    "better. Orange: worse. Grey: equal, a difference of at most {equal}. The scale of the lead is logarithmic beyond "
    "twice that. ρ is Spearman's rank correlation of the lead with a property of the data sets; p is not corrected "
    "for the number of panels.",
    full_width=True,
)
def properties(data: ReportData) -> Figure | None:
    found = lead(data)
    if found is None:
        return None
    table = table_of_properties(data)
    table = table[[name for name in table if table[name].notna().all()]]
    figure = Figure(figsize=(7.2, 0.9 + ROW * max(len(found.by_dataset), 15)), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1, 1.25))[0]
    _draw_datasets(left.subplots(), found)
    if not table.empty:
        panels = right.subplots(-(-table.shape[1] // 2), 2, sharey=True, squeeze=False)
        for axes, name in zip(panels.flat, table):
            _draw_property(axes, table[name], found)
        drawing.hide_unused(panels, table.shape[1])
        right.supylabel("the same lead", fontsize=8, color=drawing.MUTED)
    return figure


def _draw_datasets(axes: Axes, found: Advantage) -> None:
    """One bar per data set, the largest lead at the top."""
    order = np.argsort(found.by_dataset.to_numpy(), kind="stable")
    names = [labels.title(str(found.by_dataset.index[place])) for place in order]
    colours = [found.colours[place] for place in order]
    axes.barh(range(len(order)), found.by_dataset.iloc[order], color=colours, height=0.65)
    axes.set_yticks(range(len(order)), names, fontsize=7.5)
    axes.set_ylim(-0.7, len(order) - 0.3)
    axes.axvline(0, color=drawing.INK, linewidth=0.8)
    _set_scale(axes.xaxis, axes.set_xscale, found)
    axes.set_title(found.in_words, fontsize=8)
    axes.set_xlabel(f"lead of {labels.label(found.ours)}\nover {labels.label(found.rival)}", fontsize=8)
    drawing.horizontal(axes)


def _draw_property(axes: Axes, values: pd.Series, found: Advantage) -> None:
    axes.axhline(0, color=drawing.INK, linewidth=0.8)
    axes.scatter(values, found.by_dataset, s=22, c=found.colours, alpha=0.85)
    _set_scale(axes.yaxis, axes.set_yscale, found)
    if values.name in LOGARITHMIC:
        axes.set_xscale("log")
        drawing.plain_numbers(axes.xaxis)
    axes.set_title(_correlation(values, found.by_dataset), fontsize=8)
    axes.set_xlabel(str(values.name), fontsize=8)


def _set_scale(axis: Axis, set_scale: Callable[..., None], found: Advantage) -> None:
    """Logarithmic beyond a small lead: on a linear scale one lead of 30 points would hide all others."""
    linear = 2 * found.equal
    steps = linear * np.array(STEPS)
    ticks = np.concatenate([-steps[::-1], [0.0], steps])
    lowest, highest = found.by_dataset.min(), found.by_dataset.max()
    set_scale("symlog", linthresh=linear, linscale=0.5)
    axis.set_ticks(ticks[(ticks == 0) | (ticks >= lowest) & (ticks <= highest)])
    drawing.plain_numbers(axis)


def _correlation(values: pd.Series, leads: pd.Series) -> str:
    if values.nunique() < 2 or leads.nunique() < 2:
        return "no correlation"
    result = spearmanr(values, leads)
    return f"ρ = {result.statistic:+.2f}, p = {np.maximum(result.pvalue, 0.001):.2g}"
