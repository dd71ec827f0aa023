"""ROC, precision-recall and calibration curves of predictions for rows that the model had not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from pipeline.reporting import labels
from pipeline.reporting.own.dataset_report import DatasetReport

MOST_CLASSES = 8  # drawn in one figure
MOST_BINS, ROWS_PER_BIN, NARROWEST = 10, 20, 0.02


@dataclass(frozen=True)
class Curve:
    """A line with a name, and the area under it or the like."""

    label: str
    model: str
    x: np.ndarray
    y: np.ndarray
    value: float | None = None


@dataclass(frozen=True)
class _Question:
    """Which rows are of one class, and how strongly a model believes that of each row."""

    label: str
    model: str
    positive: np.ndarray
    belief: np.ndarray


def roc(report: DatasetReport) -> list[Curve]:
    curves = []
    for question in _questions(report, report.scores):
        x, y, _ = roc_curve(question.positive, question.belief)
        curves.append(Curve(question.label, question.model, x, y, float(auc(x, y))))
    return curves


def precision_recall(report: DatasetReport) -> list[Curve]:
    curves = []
    for question in _questions(report, report.scores):
        precision, recall, _ = precision_recall_curve(question.positive, question.belief)
        value = float(average_precision_score(question.positive, question.belief))
        # The last point has no threshold: scikit-learn adds it so that the curve reaches the axis.
        curves.append(Curve(question.label, question.model, recall[:-1], precision[:-1], value))
    return curves


def calibration(report: DatasetReport) -> list[Curve]:
    """The share of the class among rows with a similar probability, in bins with the same number of rows."""
    curves = []
    for question in _questions(report, report.probabilities):
        x, y = _binned(question.belief, question.positive)
        if len(x) > 1:
            curves.append(Curve(question.label, question.model, x, y))
    return curves


def _questions(report: DatasetReport, beliefs: Mapping[str, np.ndarray]) -> list[_Question]:
    """With two classes: each model, about the rarer class. With more: the winner, about each class against the rest."""
    names = list(report.classes)
    if report.is_binary:
        models = [model for model in (report.winner, *report.peers) if model is not None and model in beliefs]
        place = names.index(report.positive)
        asked = [(labels.label(model), model, place) for model in models]
    else:
        asked = [(name, report.winner, names.index(name)) for name in shown_classes(report)] if report.winner else []
    questions = []
    for label, model, place in asked:
        if model not in beliefs:
            continue
        values = beliefs[model][:, place]
        tested = np.isfinite(values)
        positive = report.y[tested] == names[place]
        if 0 < positive.sum() < len(positive):
            questions.append(_Question(label, model, positive, values[tested]))
    return questions


def shown_classes(report: DatasetReport) -> Sequence[str]:
    """The classes that a figure can show: the most frequent ones."""
    return sorted(report.classes, key=lambda name: -report.classes[name])[:MOST_CLASSES]


def _binned(belief: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
