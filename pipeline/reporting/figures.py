"""The pictures over all sets: scores, times, ranks, wins, choices and costs."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pipeline.reporting import drawing, labels
from pipeline.reporting.scores import Scores
from pipeline.reporting.significance import LEVEL, Ranks

WIDTH = 5.4


def _rows(models: list[str]) -> float:
    return 0.9 + 0.29 * len(models)


def _boxes(values: pd.DataFrame, models: list[str], xlabel: str, log: bool) -> Figure:
    """A horizontal box a model over the sets, best on top, its sets as points."""
    with drawing.style():
        made, axes = drawing.figure(WIDTH, _rows(models))
        for place, model in enumerate(reversed(models)):
            held, hue = values[model].dropna().to_numpy(), drawing.colour(labels.family(model))
            axes.boxplot(
                held, positions=[place], orientation="horizontal", widths=0.6, patch_artist=True, showfliers=False,
                boxprops={"facecolor": (*_rgb(hue), 0.18), "edgecolor": hue},
                medianprops={"color": hue, "linewidth": 2}, whiskerprops={"color": hue},
                capprops={"color": hue}, manage_ticks=False,
            )  # fmt: skip
            # Beside each other, in a fixed order, so that equal ones can be seen.
            axes.scatter(held, place + np.linspace(-0.2, 0.2, len(held)), s=6, color=hue, linewidths=0, alpha=0.7)
        axes.set_yticks(range(len(models)), [labels.label(model) for model in reversed(models)])
        axes.set(xlabel=xlabel, ylim=(-0.6, len(models) - 0.4))
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.tick_params(length=0)
        if log:
            axes.set_xscale("log")
            drawing.plain_numbers(axes.xaxis)
        return made


def scores(held: Scores) -> Figure:
    models = [model for model in held.models if held.mean[model].notna().any()]
    models.sort(key=lambda model: -held.mean[model].mean())
    return _boxes(held.mean, models, "accuracy of a set, %", log=False)


def times(seconds: pd.DataFrame) -> Figure:
    models = [model for model in seconds if seconds[model].notna().any()]
    models.sort(key=lambda model: seconds[model].median())
    return _boxes(seconds, models, "CPU seconds of a fit, without tuning", log=True)


def ranking(found: Ranks) -> Figure:
    """Mean ranks; a bar joins models that Nemenyi's test does not tell apart."""
    import scikit_posthocs
    from matplotlib import pyplot

    shown = {model: labels.label(model) for model in found.mean.index}
    hues = {shown[model]: drawing.colour(labels.family(model)) for model in shown}
    with drawing.style():
        made, axes = drawing.figure(WIDTH + 1.8, 0.9 + 0.18 * len(shown))
        axes.grid(visible=False)
        drawn = scikit_posthocs.critical_difference_diagram(
            found.mean.rename(shown), found.pairs.rename(index=shown, columns=shown), alpha=LEVEL, ax=axes,
            label_fmt_left="{label}  {rank:.1f}", label_fmt_right="{rank:.1f}  {label}", color_palette=hues,
            label_props={"fontsize": 9}, text_h_margin=0.12, elbow_props={"linewidth": 1}, marker_props={"s": 22},
            crossbar_props={"color": drawing.INK, "linewidth": 2.5, "marker": ""},
        )  # fmt: skip
        for bar in (line for lines in drawn["crossbars"] for line in lines):
            bar.set_xdata(sorted(bar.get_xdata()))  # they come in the order of a set, another in each process
        pyplot.close("all")
        return made


def score_and_time(held: Scores, cost: pd.DataFrame, fits: pd.Series) -> Figure:
    """A filled point: the fit alone. A hollow one: with its share of the tuning. The names stand at the right."""
    with drawing.style():
        made, axes = drawing.figure(WIDTH, 4.2)
        axes.set_xscale("log")
        drawing.plain_numbers(axes.xaxis)
        ends = {}
        for model in held.complete:
            hue, level = drawing.colour(labels.family(model)), held.mean[model].mean()
            alone, whole = cost["fitting"][model] / fits[model], cost["total"][model] / fits[model]
            if whole > 1.05 * alone:
                axes.plot([alone, whole], [level, level], color=hue, linewidth=1, alpha=0.6)
                axes.scatter([whole], [level], s=34, facecolors="none", edgecolors=hue, linewidths=1.3)
            axes.scatter([alone], [level], s=38, color=hue)
            ends[model] = (whole, level)
        axes.margins(x=0.12, y=0.08)
        low, high = axes.get_ylim()
        places = _apart([(level - low) / (high - low) for _, level in ends.values()], 0.055)
        for (model, end), place in zip(ends.items(), places):
            hue = drawing.colour(labels.family(model))
            axes.annotate(
                labels.label(model), end, (1.03, place), textcoords="axes fraction", va="center", fontsize=8, color=hue,
                arrowprops={"arrowstyle": "-", "color": hue, "linewidth": 0.6, "alpha": 0.5, "shrinkB": 4,
                            "relpos": (0, 0.5)},
            )  # fmt: skip
        axes.set(xlabel="CPU seconds a fold (hollow: with tuning)", ylabel="mean accuracy, %")
        axes.tick_params(length=0, which="both", labelcolor=drawing.MUTED)
        return made


def _apart(places: list[float], step: float) -> list[float]:
    """Move places on a line as little as it takes that neighbours are a step apart."""
    order = np.argsort(places, kind="stable")
    moved = np.array(places)[order]
    for _ in range(200):  # neighbours that are too near push each other
        gaps = step - np.diff(moved)
        push = np.where(gaps > 1e-6, gaps / 2, 0.0)
        moved[:-1] -= push
        moved[1:] += push
    moved += min(0.0, 1.02 - moved[-1]) if len(moved) else 0.0
    found = np.empty(len(moved))
    found[order] = moved
    return [float(place) for place in found]


def wins(tally: pd.DataFrame) -> Figure:
    """Wins / ties / losses of the row's model against the column's."""
    models = list(tally.index)
    count = len(models)
    with drawing.style():
        made, axes = drawing.figure(1.6 + 0.55 * count, 1.1 + 0.36 * count)
        axes.grid(visible=False)
        for row, column in np.ndindex(count, count):
            if row == column:
                continue
            won, tied, lost = tally.loc[models[row], models[column]]
            lead = (won - lost) / max(won + tied + lost, 1)
            hue = drawing.colour("ldep" if lead > 0 else "svc")
            axes.bar(column, 1, 1, row - 0.5, color=hue, alpha=0.55 * abs(lead), linewidth=0)
            axes.text(column, row, f"{won}/{tied}/{lost}", ha="center", va="center", fontsize=7.5)
        axes.set_xticks(
            range(count), [labels.label(model) for model in models], rotation=40, ha="left", color=drawing.INK
        )
        axes.set_yticks(range(count), [labels.label(model) for model in models])
        axes.xaxis.tick_top()
        axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.tick_params(length=0)
        return made


def chosen(table: pd.DataFrame) -> Figure | None:
    """r1 and r2 that the studies of the ℓ-DEP chose: a point's area is the number of folds."""
    fits = table[(table["trials"] > 0) & (table["status"] == "ok")].drop_duplicates(["dataset", "model", "fold"])
    held = [(row.dataset, json.loads(row.settings)) for row in fits.itertuples()]
    picks = [(dataset, s["r1"], s["r2"]) for dataset, s in held if "r1" in s and "r2" in s]
    if not picks:
        return None
    sets = list(dict.fromkeys(dataset for dataset, _, _ in picks))
    sizes = sorted({r for _, r1, r2 in picks for r in (r1, r2)})
    with drawing.style():
        made, panels = drawing.figure(WIDTH, 1.0 + 0.24 * len(sets), 1, 2, sharey=True, squeeze=False)
        for axes, which, hue in zip(panels[0], (1, 2), ("ldep", "svc")):
            counts: dict[tuple[int, int], int] = {}
            for pick in picks:
                place = (sizes.index(pick[which]), len(sets) - 1 - sets.index(pick[0]))
                counts[place] = counts.get(place, 0) + 1
            for folds in sorted(set(counts.values())):
                places = [place for place, count in counts.items() if count == folds]
                axes.scatter(*zip(*places), s=26 * folds, color=drawing.colour(hue), alpha=0.75, linewidths=0)
            axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
            axes.set_yticks(range(len(sets)), [labels.title(name) for name in reversed(sets)])
            parts = ("r1, pieces of the dilation", "r2, pieces of the erosion")
            axes.set(title=parts[which - 1], xlim=(-0.6, len(sizes) - 0.4), ylim=(-0.7, len(sets) - 0.3))
            axes.spines["left"].set_visible(False)
            axes.tick_params(length=0)
        return made


def costs(cost: pd.DataFrame) -> Figure:
    models = list(cost.sort_values("total")["total"].index)
    with drawing.style():
        made, axes = drawing.figure(WIDTH, _rows(models))
        for place, model in enumerate(models):
            row, hue = cost.loc[model], drawing.colour(labels.family(model))
            axes.barh(place, row["fitting"], color=hue, height=0.6)
            axes.barh(place, row["tuning"], left=row["fitting"], color=(*_rgb(hue), 0.35), height=0.6)
            axes.annotate(f"{amount(row['total'])} · {row['share']:.1%}", (row["total"], place), (5, 0),
                          textcoords="offset points", va="center", fontsize=8, color=drawing.MUTED)  # fmt: skip
        axes.set_yticks(range(len(models)), [labels.label(model) for model in models])
        axes.set(xlabel="CPU seconds of all sets and folds: fits (full), tuning (pale)")
        axes.margins(x=0.24)
        axes.set_xlim(left=0)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.tick_params(length=0)
        return made


def amount(seconds: float) -> str:
    """Seconds in the unit that a person would take."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def _rgb(hue: str) -> tuple[float, ...]:
    return tuple(int(hue[i : i + 2], 16) / 255 for i in (1, 3, 5))
