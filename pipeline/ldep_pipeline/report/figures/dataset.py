"""The figures of one data set: every model on every fold, curves for unseen rows, and what the winner looks at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from ldep_pipeline.report import drawing, labels
from ldep_pipeline.report.figures import report_figure
from ldep_pipeline.report.report_data import DatasetReport
from ldep_pipeline.report.scores import interval_of_mean

MOST_CLASSES = 8  # drawn in one figure
MOST_BINS, ROWS_PER_BIN, NARROWEST = 10, 20, 0.02
COLOURS = ("ldep", "svc", "network", "relative")
DASHES = ("-", (0, (5, 2)), (0, (2, 1.5)), (0, (6, 2, 1, 2)))
SIDE = 3.9  # inches of a square figure
MOST_COLUMNS = 12
MOST_LINES = 4  # in a legend beside which a curve still has room


@dataclass(frozen=True)
class Curve:
    """A line with a name, and the area under it or the like."""

    label: str
    model: str
    x: np.ndarray
    y: np.ndarray
    value: float | None = None


def _about(report: DatasetReport) -> str:
    """The first sentences of the caption of a curve."""
    if report.positive is not None:
        return (
            f"The class in question is ‘{report.positive}’, the rarer one. A curve joins the rows of all folds; the "
            "numbers are those of the leaderboard, the means over the folds."
        )
    shown = len(shown_classes(report))
    of_all = "each class" if shown == len(report.classes) else f"each of the {shown} most frequent classes"
    return (
        f"{labels.label(str(report.winner))}: {of_all} against all others. A curve and its number are those of the "
        "rows of all folds together."
    )


def _importance_caption(report: DatasetReport) -> str:
    importance = report.examination["importance"]
    if importance["method"] == "shares":
        caption = (
            f"The mean absolute share of each column in the decision values of {importance['rows']} unseen rows. "
            "The shares are exact: they come from the model's own pieces (explain_global)."
        )
    else:
        caption = (
            f"How much {report.metric.noun} is lost on {importance['rows']} unseen rows when the cells of one column "
            "are shuffled. Of columns that say the same, each looks unimportant. A negative value is chance."
        )
    left_out = len(importance["columns"]) - MOST_COLUMNS
    return caption + (f" {labels.count_of(left_out, 'column')} with smaller values not shown." if left_out > 0 else "")


@report_figure(
    "leaderboard",
    "Every model on every fold",
    "Large points are the means over the folds, small points the folds, and the lines 95 % intervals of the means. "
    "Intervals that overlap say little about two models: the comparison below looks at their differences.",
)
def folds(report: DatasetReport) -> Figure | None:
    ranked, factor = report.ranked, report.metric.factor
    if not ranked:
        return None
    figure, axes = drawing.figure(drawing.WIDTH, drawing.height_of(len(ranked)))
    for place, scores in enumerate(reversed(ranked)):
        colour = drawing.colour("ldep" if scores.model == report.winner else "other")
        if scores.interval is not None:
            axes.plot([factor * end for end in scores.interval], [place, place], color=colour, linewidth=2)
        heights = place + np.linspace(-0.22, 0.22, len(scores.values))
        axes.scatter(factor * scores.values, heights, s=9, color=colour, linewidths=0, alpha=0.6)
        axes.scatter([factor * scores.mean], [place], s=42, color=colour, linewidths=0, zorder=3)
    axes.set_yticks(range(len(ranked)), [labels.label(scores.model) for scores in reversed(ranked)])
    axes.set(xlabel=report.metric.axis, ylim=(-0.6, len(ranked) - 0.4))
    drawing.horizontal(axes)
    return figure


@report_figure(
    "curves",
    "ROC curve",
    lambda report: f"{_about(report)} A curve near the upper left corner is good; the dotted line is guessing.",
)
def roc(report: DatasetReport) -> Figure | None:
    axes = ("share of other rows taken for it", f"share of {_wanted(report)} that are found")
    return _square(curves(report, "roc"), *axes, "area", diagonal=True)


@report_figure(
    "curves",
    "Precision and recall",
    lambda report: (
        f"{_about(report)} Where to stand on the curve is the choice of the threshold."
        + (" The dotted line is guessing." if report.positive is not None else "")
    ),
)
def precision_recall(report: DatasetReport) -> Figure | None:
    axes = (f"share of {_wanted(report)} that are found", "share of alarms that are right")
    share = report.classes[report.positive] / report.n_rows if report.positive is not None else None
    return _square(curves(report, "precision_recall"), *axes, "average precision", level=share)


@report_figure(
    "curves",
    "Calibration",
    lambda report: (
        f"{_about(report)} Rows are grouped by their probability. On the dotted line, 30 % means that it happens in 30 "
        "of 100 cases. The sigmoid that turns scores into probabilities was fitted without the rows of the fold."
    ),
)
def calibration(report: DatasetReport) -> Figure | None:
    axes = ("probability by the model", "share in the data")
    return _square(curves(report, "calibration"), *axes, "", diagonal=True, marker="o")


@report_figure("model", "Columns by importance", _importance_caption)
def importance(report: DatasetReport) -> Figure | None:
    known = report.examination.get("importance")
    if not known or not known["columns"]:
        return None
    are_shares = known["method"] == "shares"
    label = "share of the decision, %" if are_shares else f"loss of {report.metric.axis}"
    return _bars(known["columns"], 100 if are_shares else report.metric.factor, label)


@report_figure(
    "model",
    "Words by importance",
    "The mean absolute share of each word of a text in the decision values, on the same rows. A word that ends with "
    "dots stands for all words that begin so.",
)
def words(report: DatasetReport) -> Figure | None:
    known = report.examination.get("importance") or {}
    return _bars(known["words"], 100, "share of the decision, %") if known.get("words") else None


def _bars(values: Mapping[str, float], factor: float, label: str) -> Figure:
    """One bar for each of the first values."""
    shown = list(values.items())[:MOST_COLUMNS]
    figure, axes = drawing.figure(drawing.WIDTH, drawing.height_of(len(shown)))
    axes.barh(
        range(len(shown)), [factor * value for _, value in reversed(shown)], height=0.62, color=drawing.colour("ldep")
    )
    axes.set_yticks(range(len(shown)), [_short(name) for name, _ in reversed(shown)])
    axes.set(xlabel=label, ylim=(-0.6, len(shown) - 0.4))
    drawing.horizontal(axes)
    return figure


@report_figure(
    "model",
    "Would more rows help?",
    "The winner, fitted on parts of the training rows of each fold and tested on the unseen rows of that fold. Points "
    "are the folds, the line joins their means, and the bars are 95 % intervals of the means.",
)
def learning_curve(report: DatasetReport) -> Figure | None:
    points = report.learning_curve
    if not points:
        return None
    rows, factor = [point["rows"] for point in points], report.metric.factor
    scores = factor * np.array([point["scores"] for point in points])
    figure, axes = drawing.figure(drawing.WIDTH, 3.0)
    for place, values in zip(rows, scores):
        axes.scatter([place] * len(values), values, s=9, color=drawing.colour("other"), linewidths=0, alpha=0.6)
        interval = interval_of_mean(values, report.test_share)
        if interval is not None:
            limits = [min(max(end, factor * report.metric.low), factor * report.metric.high) for end in interval]
            axes.plot([place, place], limits, color=drawing.colour("ldep"), linewidth=1.5)
    axes.plot(rows, scores.mean(axis=1), color=drawing.colour("ldep"), marker="o", linewidth=2)
    axes.set_xscale("log")
    axes.set_xticks(rows, [f"{number:,}" for number in rows])
    axes.minorticks_off()
    axes.margins(x=0.12, y=0.25)
    axes.set(xlabel="training rows", ylabel=report.metric.axis)
    return figure


def curves(report: DatasetReport, kind: str) -> list[Curve]:
    """`roc`, `precision_recall` or `calibration` curves, of those models and classes that have one."""
    beliefs = report.probabilities if kind == "calibration" else report.scores
    found = []
    for label, model, positive, belief in _questions(report, beliefs):
        value = None
        if kind == "roc":
            x, y, _ = roc_curve(positive, belief)
            value = _mean_of_folds(report, model, "roc_auc", float(auc(x, y)))
        elif kind == "precision_recall":
            precision, recall, _ = precision_recall_curve(positive, belief)
            # The last point has no threshold: scikit-learn adds it so that the curve reaches the axis.
            x, y = recall[:-1], precision[:-1]
            pooled = float(average_precision_score(positive, belief))
            value = _mean_of_folds(report, model, "average_precision", pooled)
        else:
            x, y = _binned(belief, positive)
        if kind != "calibration" or len(x) > 1:
            found.append(Curve(label, model, x, y, value))
    return found


def _mean_of_folds(report: DatasetReport, model: str, metric: str, pooled: float) -> float:
    """With two classes the number of the leaderboard; a single class of several has only that of all folds together."""
    if report.positive is None:
        return pooled
    scores = next(scores for scores in report.leaderboard if scores.model == model)
    mean = scores.mean if metric == report.metric.name else scores.other_means.get(metric, np.nan)
    return pooled if np.isnan(mean) else float(mean)


def _questions(
    report: DatasetReport, beliefs: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """A label and a model; which rows are of a class, and how strongly the model believes that of each.

    With two classes: each model, about the rarer class. With more: the winner, about each class against the rest.
    """
    names = list(report.classes)
    if report.positive is not None:
        models = [model for model in (report.winner, *report.peers) if model is not None and model in beliefs]
        place = names.index(report.positive)
        asked = [(labels.label(model), model, place) for model in models]
    else:
        asked = [(name, report.winner, names.index(name)) for name in shown_classes(report)] if report.winner else []
    for label, model, place in asked:
        if model not in beliefs:
            continue
        values = beliefs[model][:, place]
        tested = np.isfinite(values)
        positive = report.y[tested] == names[place]
        if 0 < positive.sum() < len(positive):
            yield label, model, positive, values[tested]


def shown_classes(report: DatasetReport) -> Sequence[str]:
    """The classes that a figure can show: the most frequent ones."""
    return sorted(report.classes, key=lambda name: -report.classes[name])[:MOST_CLASSES]


def _binned(belief: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The share of the class among rows with a similar probability, in bins with the same number of rows."""
    bins = int(np.clip(len(belief) // ROWS_PER_BIN, 1, MOST_BINS))
    edges: list[float] = []
    for edge in np.quantile(belief, np.linspace(0, 1, bins + 1)[1:-1]):
        if edge - (edges[-1] if edges else belief.min()) >= NARROWEST:  # a narrower bin would only show noise
            edges.append(float(edge))
    place = np.searchsorted(edges, belief, side="right")
    filled = [number for number in range(len(edges) + 1) if (place == number).any()]
    means = np.array([belief[place == number].mean() for number in filled])
    shares = np.array([positive[place == number].mean() for number in filled])
    return means, shares


def _square(
    found: Sequence[Curve],
    xlabel: str,
    ylabel: str,
    value_name: str,
    *,
    diagonal: bool = False,
    level: float | None = None,
    marker: str = "",
) -> Figure | None:
    """Curves over the unit square. The first one is the winner's, or all are of the winner."""
    if not found:
        return None
    one_model = len({curve.model for curve in found}) == 1
    figure, axes = drawing.figure(SIDE, SIDE + 0.7)
    axes.set(xlabel=xlabel, ylabel=ylabel, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    if diagonal:
        axes.plot([0, 1], [0, 1], color=drawing.MUTED, linewidth=1, linestyle=":")
    if level is not None:
        axes.axhline(level, color=drawing.MUTED, linewidth=1, linestyle=":")
    for place, curve in enumerate(found):
        name = f"{curve.label}, {value_name} {curve.value:.3f}" if curve.value is not None else curve.label
        axes.plot(
            curve.x,
            curve.y,
            label=name,
            color=drawing.colour(COLOURS[place % len(COLOURS)]),
            linestyle=DASHES[(place // len(COLOURS) if one_model else place) % len(DASHES)],
            linewidth=2 if place == 0 or one_model else 1.3,
            marker=marker,
            markersize=4,
        )
    # Below the axes: inside them, a legend always covers the interesting corner of one of the three curves.
    figure.legend(loc="outside lower left", ncols=1 if len(found) <= MOST_LINES else 2)
    return figure


def _wanted(report: DatasetReport) -> str:
    return f"‘{_short(report.positive)}’" if report.positive is not None else "the class"


def _short(name: str) -> str:
    return name if len(name) <= 28 else f"{name[:26]}…"
