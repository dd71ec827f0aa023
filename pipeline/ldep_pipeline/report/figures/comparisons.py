"""Comparisons of the models over the data sets: ranks, wins, and the probability that one is better."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ldep_pipeline.report import drawing, labels
from ldep_pipeline.report.comparison import LEVEL, Ranks, outcomes
from ldep_pipeline.report.figures import report_figure
from ldep_pipeline.report.labels import OURS
from ldep_pipeline.report.report_data import ReportData

NARROWEST = 6.3  # inches: the page would enlarge a smaller figure
MOST = 14  # models: with more, the columns are our models only, because nobody reads a thousand cells
ROW = 0.2  # inches per comparison


@report_figure(
    "tests",
    "Mean ranks by {metric}",
    "1 is best. A bar joins models between which Nemenyi's test finds no difference at the 5 % level.",
    full_width=True,
    for_every_metric=True,
)
def ranks(data: ReportData) -> Figure | None:
    return None if data.ranks is None else rank_diagram(data.ranks)


@report_figure(
    "tests",
    "Wins / ties / losses",
    "The row's model against the column's, over the data sets. Blue: the row's model wins more often. Orange: "
    "the column's does. A tie is the same printed mean.",
    full_width=True,
)
def wins(data: ReportData) -> Figure | None:
    tally = outcomes(data.scores)
    models = [model for model in tally.index if data.scores.mean[model].notna().any()]
    if len(models) < 2:
        return None
    others = models if len(models) <= MOST else [model for model in OURS if model in models] or models[:MOST]
    figure, axes = drawing.figure(max(NARROWEST, 1.6 + 0.55 * len(others)), 1.1 + 0.28 * len(models))
    axes.grid(visible=False)
    for row, column in np.ndindex(len(models), len(others)):
        if models[row] == others[column]:
            continue
        won, tied, lost = tally.loc[models[row], others[column]]
        lead = (won - lost) / max(won + tied + lost, 1)
        colour = drawing.colour("ldep" if lead > 0 else "svc")
        axes.bar(column, 1, 1, row - 0.5, color=colour, alpha=0.55 * abs(lead), linewidth=0)
        axes.text(column, row, f"{won}/{tied}/{lost}", ha="center", va="center", fontsize=7.5)
    titles = [labels.label(model) for model in others]
    axes.set_xticks(range(len(others)), titles, rotation=40, ha="left", color=drawing.INK)
    axes.set_yticks(range(len(models)), [labels.label(model) for model in models])
    axes.xaxis.tick_top()
    axes.set(xlim=(-0.5, len(others) - 0.5), ylim=(len(models) - 0.5, -0.5))
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.tick_params(length=0)
    return figure


@report_figure(
    "tests",
    "Better, equal or worse by {metric}",
    "Bayesian signed-rank test over the data sets. Differences of at most {equal} count as practically "
    "equal. Unlike a test of a null hypothesis, it can find that two models are equal.",
    full_width=True,
    for_every_metric=True,
)
def posterior(data: ReportData) -> Figure | None:
    claims = [claim for claim in data.claims if claim.datasets > 1]
    if not claims:
        return None
    figure, axes = drawing.figure(drawing.WIDTH + 1.8, 0.9 + ROW * len(claims))
    drawing.horizontal(axes)
    for row, claim in enumerate(reversed(claims)):
        left = 0.0
        parts = (
            (claim.posterior.better, drawing.colour("ldep"), 0.9),
            (claim.posterior.equal, drawing.MUTED, 0.35),
            (claim.posterior.worse, drawing.colour("svc"), 0.9),
        )
        for width, colour, opacity in parts:
            axes.barh(row, width, left=left, height=0.7, color=drawing.transparent(colour, opacity))
            if width >= 0.08:
                axes.text(left + width / 2, row, f"{100 * width:.0f}", ha="center", va="center", fontsize=7)
            left += width
    names = [f"{labels.label(claim.ours)} – {claim.other}" for claim in reversed(claims)]
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set(
        xlim=(0, 1),
        ylim=(-0.6, len(names) - 0.4),
        xlabel="posterior probability: better | practically equal | worse, in %",
    )
    axes.set_xticks([])
    return figure


def rank_diagram(ranks: Ranks) -> Figure:
    """Draw a critical difference diagram."""
    import scikit_posthocs

    names = {model: labels.label(model) for model in ranks.mean.index}
    figure, axes = drawing.figure(drawing.WIDTH + 1.8, 0.9 + 0.18 * len(names))
    axes.grid(visible=False)
    drawn = scikit_posthocs.critical_difference_diagram(
        ranks.mean.rename(names),
        ranks.pairs.rename(index=names, columns=names),
        alpha=LEVEL,
        ax=axes,
        label_fmt_left="{label}  {rank:.1f}\u2002",
        label_fmt_right="\u2002{rank:.1f}  {label}",  # an en space keeps the text off its line
        color_palette={name: drawing.colour(labels.family(model)) for model, name in names.items()},
        label_props={"fontsize": 9},
        text_h_margin=0.12,
        elbow_props={"linewidth": 1},
        marker_props={"s": 22},
        crossbar_props={"color": drawing.INK, "linewidth": 2.5, "marker": ""},
    )
    for crossbar in drawn["crossbars"]:
        for line in crossbar:
            # The library takes these points from a set, whose order differs between processes.
            line.set_xdata(sorted(line.get_xdata()))
    return figure
