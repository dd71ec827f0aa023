"""The first lines of the page: who won, how sure that is, and what it means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.reporting import labels
from pipeline.reporting.own.comparison import Comparison
from pipeline.reporting.own.dataset_report import DatasetReport
from pipeline.reporting.own.tables import confusion_counts

MANY = 5  # names in one sentence
MORE_FOLDS = " More folds or repeats (split.folds, split.repeats) may decide."


def findings(report: DatasetReport) -> list[str]:
    if report.winning_entry is None:
        return ["No model has a result on every fold. The section on failed fits gives the reasons."]
    return [_winner(report), *_comparisons(report), *_errors(report), *_columns(report), *_more_rows(report)]


def baseline(report: DatasetReport) -> float | None:
    """What a model reaches that ignores the columns: it always answers the most frequent class, or guesses."""
    total, counts = sum(report.classes.values()), report.classes.values()
    known = {
        "accuracy": max(counts) / total,
        "balanced_accuracy": 1 / len(report.classes),
        "roc_auc": 0.5,
        "average_precision": min(counts) / total if report.is_binary else 1 / len(report.classes),
    }
    return known.get(report.metric.name)


def _winner(report: DatasetReport) -> str:
    entry, metric = report.winning_entry, report.metric
    assert entry is not None
    text = f"{labels.label(entry.model)} wins with {metric.title} {metric.text(entry.mean)}{metric.unit}"
    if entry.low is not None and entry.high is not None:
        text += f" (95 % interval {metric.text(entry.low)} to {metric.text(entry.high)})"
    without = baseline(report)
    if without is not None:
        text += f"; without looking at any column one reaches {metric.text(without)}{metric.unit}"
    best = report.ranked[0]
    if best.model != entry.model:
        text += f". {labels.label(best.model)} has {metric.text(best.mean)}{metric.unit}, which counts as equal: "
        text += "of equal models, one that explains its decisions is preferred"
    return f"{text}."


def _comparisons(report: DatasetReport) -> list[str]:
    if not report.comparisons:
        return []
    better = [c for c in report.comparisons if c.verdict == "better"]
    worse = [c for c in report.comparisons if c.verdict == "worse"]
    unclear = [c for c in report.comparisons if c.verdict not in ("better", "worse")]
    sentences = []
    if better:
        sentences.append(f"It is clearly better than {_names(better)}.")
    if worse:
        sentences.append(f"It is clearly worse than {_names(worse)}.")
    if len(unclear) == len(report.comparisons):
        sentences.append(f"It does not differ clearly from any other model on these folds.{MORE_FOLDS}")
    elif unclear:
        advice = "" if len(better) > len(unclear) else MORE_FOLDS
        sentences.append(f"From {_names(unclear)} it does not differ clearly on these folds.{advice}")
    return sentences


def _errors(report: DatasetReport) -> list[str]:
    counts = confusion_counts(report)
    if counts is None or not report.is_binary:
        return []
    names = list(report.classes)
    place = names.index(report.positive)
    found, actual, alarms = counts[place, place], counts[place].sum(), counts[:, place].sum()
    if not alarms:
        return [f"At its threshold it never predicts ‘{report.positive}’: choose another metric to find these rows."]
    return [
        f"At its threshold it finds {found:,} of {actual:,} rows of the class ‘{report.positive}’, and "
        f"{labels.percent(found / alarms)} of its {alarms:,} predictions of that class are right."
    ]


def _columns(report: DatasetReport) -> list[str]:
    importance = report.examination.get("importance")
    if not importance:
        return []
    first = [column for column, value in list(importance["columns"].items())[:3] if value > 0]
    return [f"It looks most at {_joined(first)}."] if first else []


def _more_rows(report: DatasetReport) -> list[str]:
    points = [point for point in report.examination.get("learning_curve") or [] if point["score"] is not None]
    if len(points) < 2:
        return []
    before, last = points[-2], points[-1]
    gain = report.metric.sign * (last["score"] - before["score"])
    values = report.winning_entry.values if report.winning_entry is not None else np.zeros(1)
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    steps = f"from {before['rows']:,} to {last['rows']:,} training rows"
    if gain > spread:
        return [
            f"More rows would probably help: {steps} the score still rose by {report.metric.points(gain).lstrip('+')}."
        ]
    return [
        f"More rows of the same kind would probably change little: {steps} the score moved less than between folds."
    ]


def _names(comparisons: Sequence[Comparison]) -> str:
    names = [labels.label(comparison.other) for comparison in comparisons]
    if len(names) > MANY:
        return f"{len(names)} of the other models"
    return _joined(names)


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
