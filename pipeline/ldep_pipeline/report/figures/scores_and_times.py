"""The models over the data sets: scores, times and costs, ranks, wins, and the probability that one is better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ldep_pipeline.report import drawing, labels
from ldep_pipeline.report import scores as score_tables
from ldep_pipeline.report.comparison import LEVEL, Ranks, outcomes
from ldep_pipeline.report.figures import report_figure
from ldep_pipeline.report.labels import OURS
from ldep_pipeline.report.report_data import ReportData

LABEL_STEP = 0.22  # inches between two labels
HEIGHT = 4.2
FENCE = 3.0  # quartile distances


@report_figure(
    "results",
    "{metric}",
    "Each point is a data set, by its mean over the folds. The box shows the quartiles and the median; the "
    "whiskers reach up to 1.5 times its length.",
)
def scores(data: ReportData) -> Figure | None:
    means = data.scores.mean.dropna(axis="columns", how="all")
    if means.empty:
        return None
    models = data.metric.best_first(means.mean()).index
    return _boxes(means, list(models), f"{data.metric.axis}, on a data set", logarithmic=data.metric.is_time)


@report_figure(
    "results",
    "Training time",
    "Each point is a data set: the mean CPU time of a fit on a training fold. The axis is logarithmic.",
)
def times(data: ReportData) -> Figure | None:
    seconds = score_tables.fit_seconds(data.results).dropna(axis="columns", how="all")
    if seconds.empty:
        return None
    models = seconds.median().sort_values(kind="stable").index
    return _boxes(seconds, list(models), "CPU seconds per fit, without tuning", logarithmic=True)


@report_figure(
    "results",
    "{metric} against time",
    "Upper left is better. A filled point is the fit alone, a hollow one includes the fold's share of the "
    "tuning. The dotted line is the Pareto front: no model is both faster, with its tuning, and better than one on it. "
    "Only models with a result on every data set are shown; one far behind the others is drawn at the lower edge, with "
    "its score.",
    for_every_metric=True,
)
def score_and_time(data: ReportData) -> Figure | None:
    metric, means, cost = data.metric, data.scores.best_first(), data.costs
    fits = score_tables.fits_per_model(data.results)
    if means.empty or metric.is_time:
        return None
    limit = fence(means.to_numpy(), metric.higher_is_better)
    height = max(HEIGHT, 0.8 + LABEL_STEP * len(means))
    figure, axes = drawing.figure(drawing.WIDTH, height)
    axes.set_xscale("log")
    drawing.plain_numbers(axes.xaxis)
    points = {}
    for model, score in means[::-1].items():  # the better of two that are drawn at the edge is labelled above
        colour = drawing.colour(labels.family(model))
        mean = max(score, limit) if metric.higher_is_better else min(score, limit)
        fit, with_tuning = cost["fitting"][model] / fits[model], cost["total"][model] / fits[model]
        if with_tuning > 1.05 * fit:
            axes.plot([fit, with_tuning], [mean, mean], color=colour, linewidth=1, alpha=0.6)
            axes.scatter([with_tuning], [mean], s=34, facecolors="none", edgecolors=colour, linewidths=1.3)
        axes.scatter([fit], [mean], s=38, color=colour)
        points[model] = (with_tuning, mean)
    front = pareto_front(list(points.values()), metric.higher_is_better)
    if len(front) > 1:
        seconds, best = zip(*front)
        axes.plot(seconds, best, color=drawing.INK, linewidth=1, linestyle=":", drawstyle="steps-post", zorder=0)
    axes.margins(x=0.12, y=0.08)
    if not metric.higher_is_better:
        axes.invert_yaxis()  # better is always up
    low, high = axes.get_ylim()
    heights = spread_out([(mean - low) / (high - low) for _, mean in points.values()], LABEL_STEP / (height - 0.8))
    for (model, point), height in zip(points.items(), heights):
        colour = drawing.colour(labels.family(model))
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "alpha": 0.5, "shrinkB": 4}
        is_beyond = point[1] != means[model]
        axes.annotate(
            labels.label(model) + (f" ({metric.shown(means[model])})" if is_beyond else ""),
            point,
            (1.03, height),
            textcoords="axes fraction",
            va="center",
            fontsize=8,
            color=colour,
            arrowprops={**line, "relpos": (0, 0.5)},
        )
    axes.set(xlabel="CPU seconds per fold (hollow: with tuning)", ylabel=f"mean {metric.axis}")
    axes.tick_params(length=0, which="both", labelcolor=drawing.MUTED)
    return figure


@report_figure(
    "results",
    "Total CPU time",
    "CPU time of all fits and all tuning over all data sets and folds, and each model's share of the total.",
)
def costs(data: ReportData) -> Figure | None:
    cost = data.costs.sort_values("total")
    if data.accuracies.mean.isna().all(axis=None):
        return None
    figure, axes = drawing.figure(drawing.WIDTH, drawing.height_of(len(cost)))
    for place, (model, row) in enumerate(cost.iterrows()):
        colour = drawing.colour(labels.family(str(model)))
        axes.barh(place, row["fitting"], color=colour, height=0.6)
        axes.barh(place, row["tuning"], left=row["fitting"], color=drawing.transparent(colour, 0.35), height=0.6)
        axes.annotate(
            f"{labels.duration(row['total'])} · {row['share']:.1%}",
            (row["total"], place),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=drawing.MUTED,
        )
    axes.set_yticks(range(len(cost)), [labels.label(str(model)) for model in cost.index])
    axes.set(xlabel="CPU seconds: fits (solid), tuning (pale)")
    axes.margins(x=0.24)
    axes.set_xlim(left=0)
    drawing.horizontal(axes)
    return figure


def _boxes(values: pd.DataFrame, models: Sequence[str], xlabel: str, *, logarithmic: bool) -> Figure:
    """Draw one horizontal box per model, the first on top, with a point per data set."""
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


def fence(means: np.ndarray, higher_is_better: bool) -> float:
    """Where the axis ends on the side of bad scores: a single bad one would leave no room for the others."""
    first, third = np.quantile(means, [0.25, 0.75])
    reach = FENCE * (third - first)
    return float(max(means.min(), first - reach) if higher_is_better else min(means.max(), third + reach))


def pareto_front(points: Sequence[tuple[float, float]], higher_is_better: bool = True) -> list[tuple[float, float]]:
    """The points (seconds, score) that no other point beats in both, from the fastest to the best."""
    sign = 1 if higher_is_better else -1
    front: list[tuple[float, float]] = []
    for seconds, goodness in sorted(((seconds, sign * score) for seconds, score in points), key=_fastest_first):
        if not front or goodness > sign * front[-1][1]:
            front.append((seconds, sign * goodness))
    return front


def _fastest_first(point: tuple[float, float]) -> tuple[float, float]:
    seconds, goodness = point
    return seconds, -goodness


def spread_out(places: Sequence[float], step: float) -> list[float]:
    """Move places on a line as little as needed for neighbours to be a step apart."""
    order = np.argsort(places, kind="stable")
    moved = np.array(places)[order]
    for _ in range(200):  # neighbours that are too near push each other
        gaps = step - np.diff(moved)
        push = np.where(gaps > 1e-6, gaps / 2, 0.0)
        moved[:-1] -= push
        moved[1:] += push
    highest = 1.02  # no label above the axes
    for place in reversed(range(len(moved))):
        moved[place] = min(moved[place], highest)
        highest = moved[place] - step
    unsorted = np.empty(len(moved))
    unsorted[order] = moved
    return unsorted.tolist()


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
