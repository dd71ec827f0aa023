"""Where the ℓ-DEP wins and loses: its lead over the best other model against properties of the data sets."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from pipeline.reporting import drawing, labels
from pipeline.reporting.figure import ReportFigure, Section
from pipeline.reporting.measures import Unit
from pipeline.reporting.report_data import ReportData

FEWEST = 5  # data sets
# Which of our models is shown: the first that has a result on every data set.
SHOWN = ("ldep_ensembled", "ldep_cv", "ldep")


def leads(data: ReportData) -> tuple[str, pd.Series] | None:
    """Our model, and how much better it is than the best model of another family, one number per data set."""
    scores = data.scores
    ours = next((model for model in SHOWN if model in scores.complete), None)
    others = [model for model in scores.complete if labels.family(model) not in ("ldep", "relative")]
    if ours is None or not others or len(scores.datasets) < FEWEST or data.measure.unit is Unit.SECONDS:
        return None
    return ours, scores.goodness[ours] - scores.goodness[others].max(axis=1)


def properties(data: ReportData) -> pd.DataFrame:
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


def draw(data: ReportData) -> Figure | None:
    found = leads(data)
    if found is None:
        return None
    ours, lead = found
    table = properties(data)
    table = table[[name for name in table if table[name].notna().all()]]
    if table.empty:
        return None
    columns = min(3, table.shape[1])
    rows = -(-table.shape[1] // columns)
    with drawing.style():
        figure, panels = drawing.figure(7.2, 0.4 + 2.3 * rows, rows, columns, sharey=True, squeeze=False)
        for axes, name in zip(panels.flat, table):
            axes.axhline(0, color=drawing.INK, linewidth=0.8)
            colours = [drawing.colour("ldep") if value > 0 else drawing.colour("svc") for value in lead]
            axes.scatter(table[name], lead, s=22, c=colours, alpha=0.85)
            if name in ("rows", "features", "rows per feature"):
                axes.set_xscale("log")
                drawing.plain_numbers(axes.xaxis)
            axes.set_title(_correlation(table[name], lead), fontsize=8)
            axes.set_xlabel(name, fontsize=8)
        drawing.hide_unused(panels, table.shape[1])
        figure.supylabel(f"lead of {labels.label(ours)} over the best other model", fontsize=8, color=drawing.MUTED)
        return figure


def _correlation(values: pd.Series, lead: pd.Series) -> str:
    if values.nunique() < 2 or lead.nunique() < 2:
        return "no correlation"
    result = spearmanr(values, lead)
    return f"ρ = {result.statistic:+.2f}, p = {np.maximum(result.pvalue, 0.001):.2g}"


FIGURE = ReportFigure(
    name="properties",
    title="Where the ℓ-DEP wins and where it loses",
    caption="One point per data set: how much better the ℓ-DEP is there, by {metric}, than the best model of another "
    "family, which favours the many others. ρ is Spearman's rank correlation; p is not corrected for the "
    "number of panels.",
    section=Section.RESULTS,
    position=6,
    draw=draw,
    full_width=True,
)
