"""What is examined, and three typical and three wrong rows of it, with the columns that decided.

A row is explained as the comparison of two classes: the predicted one and, for a wrong row, the true one, otherwise the
runner-up. The margin is the difference of their scores. For an ℓ-DEP the parts of the columns are exact: they sum to
the margin of the row minus that of the mean training row. For any other model a part is how much the margin falls when
the column alone takes its mean, and the parts need not sum to anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ldep.model import folded, lead
from ldep_pipeline.fitting.specs import Costs
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.metrics import evaluation
from ldep_pipeline.metrics.evaluation import score_at
from ldep_pipeline.metrics.metric import METRICS


@dataclass(frozen=True)
class Subject:
    data: TrainingData
    raw: pd.DataFrame
    """The rows as the user knows them, the target last, in the order of `data`."""
    sources: list[str]
    """The raw column that each feature comes from."""
    fold: int
    metric: str
    costs: Costs | None = None
    texts: frozenset[str] = frozenset()
    """The raw columns of prose, of which each feature is a word."""
    threshold: float = 0.0
    """Of the decision value with two classes: the one that the fold was measured with."""

    @cached_property
    def train(self) -> np.ndarray:
        return np.flatnonzero(self.data.train_rows(self.fold))

    @cached_property
    def test(self) -> np.ndarray:
        return np.flatnonzero(self.data.test_rows(self.fold))

    @cached_property
    def groups(self) -> dict[str, list[int]]:
        """The features of each raw column that has any, by position."""
        positions: dict[str, list[int]] = {}
        for position, column in enumerate(self.sources):
            positions.setdefault(column, []).append(position)
        return positions

    def column_of(self, feature: str) -> str:
        """The raw column of a feature."""
        return self.sources[self.data.columns.index(feature)]

    def words(self, parts: np.ndarray, row: int | None = None) -> dict[str, float]:
        """The parts of the words by the names of their features; of a row only those that its texts contain."""
        places = [place for place, source in enumerate(self.sources) if source in self.texts]
        names = self.data.columns
        # The indicator of missing texts is the only feature of such a column that is not a word.
        words = [place for place in places if names[place] != f"{self.sources[place]}:missing"]
        return {names[place]: float(parts[place]) for place in words if row is None or self.data.X[row, place] == 1}

    def score(self, pipe: Any, X: np.ndarray, rows: np.ndarray) -> float | None:
        """The metric on some rows whose features may have been changed."""
        frame = pd.DataFrame(X, columns=self.data.columns, copy=False)
        classes, y = evaluation.classes_of(self.data.y, self.costs), self.data.y[rows]
        if self.threshold and METRICS[self.metric].needs == "classes":
            columns = evaluation.decision_columns(pipe, frame, classes.labels)
            assert columns is not None, "a model with a threshold has decision values"
            return score_at(self.metric, y, folded(columns), self.threshold, classes)
        return evaluation.score(self.metric, pipe, frame, y, pipe.predict(frame), classes)

    def class_scores(self, pipe: Any, X: np.ndarray) -> np.ndarray | None:
        """One column of decision values per class that the model knows; None if the model has none."""
        frame = pd.DataFrame(X, columns=self.data.columns, copy=False)
        columns = evaluation.decision_columns(pipe, frame, pipe.classes_)
        if columns is None or not self.threshold:
            return columns
        return columns - np.array([-0.5, 0.5]) * self.threshold


EACH = 3
MOST_COLUMNS = 6  # shown per row
SAME = 0.1  # of a standard deviation: margins that are closer count as equal


@dataclass(frozen=True)
class ComparedRow:
    """A test row, by its position among the test rows, and the two classes that are compared on it."""

    position: int
    predicted: int
    rival: int
    margin: float
    """The score of the predicted class minus that of its rival."""


def explained_rows(pipe: Any, subject: Subject) -> dict[str, Any]:
    """`exact`, and the lists `typical` and `wrong`; both are empty if the model has no decision values."""
    exact = hasattr(pipe[-1], "attribute")
    scores = subject.class_scores(pipe, subject.data.X[subject.test])
    if scores is None:
        return {"exact": exact, "typical": [], "wrong": []}
    labels, y = np.asarray(pipe.classes_, dtype=str), subject.data.y[subject.test]
    comparisons = [_compare(position, row, labels, label) for position, (row, label) in enumerate(zip(scores, y))]
    right = [comparison for comparison in comparisons if labels[comparison.predicted] == y[comparison.position]]
    wrong = [comparison for comparison in comparisons if labels[comparison.predicted] != y[comparison.position]]
    mean_scores = subject.class_scores(pipe, np.nanmean(subject.data.X[subject.train], axis=0, keepdims=True))
    chosen = {"typical": _typical(_told_apart(right, mean_scores)), "wrong": sorted(wrong, key=_falling_margin)[:EACH]}
    return {"exact": exact} | {
        kind: [_record(pipe, subject, comparison, exact) for comparison in rows] for kind, rows in chosen.items()
    }


def _compare(position: int, scores: np.ndarray, labels: np.ndarray, truth: str) -> ComparedRow:
    predicted = int(scores.argmax())
    others = scores.copy()
    others[predicted] = -np.inf
    known = np.flatnonzero(labels == truth)  # empty for a class that the training rows lack
    rival = int(known[0]) if len(known) and known[0] != predicted else int(others.argmax())
    return ComparedRow(position, predicted, rival, float(scores[predicted] - scores[rival]))


def _falling_margin(comparison: ComparedRow) -> float:
    return -comparison.margin


def _told_apart(rows: list[ComparedRow], mean_scores: np.ndarray | None) -> list[ComparedRow]:
    """The rows on which the model gives another answer than on the mean row; all rows of a class that has none."""
    if mean_scores is None or not rows:
        return rows
    least = SAME * float(np.std([row.margin for row in rows]))
    differing = [
        row
        for row in rows
        if abs(row.margin - float(mean_scores[0, row.predicted] - mean_scores[0, row.rival])) > least
    ]
    present = {row.predicted for row in differing}
    return differing + [row for row in rows if row.predicted not in present]


def _typical(right: list[ComparedRow]) -> list[ComparedRow]:
    """Correct rows with the median margin of their class, from one class after the other."""
    queues = []
    for label in sorted({comparison.predicted for comparison in right}):
        rows = [comparison for comparison in right if comparison.predicted == label]
        median = float(np.median([comparison.margin for comparison in rows]))
        queues.append(sorted(rows, key=lambda row, median=median: abs(row.margin - median)))  # type: ignore[misc]
    turns = [queue[turn] for turn in range(EACH) for queue in queues if turn < len(queue)]
    return turns[:EACH]


def _record(pipe: Any, subject: Subject, comparison: ComparedRow, exact: bool) -> dict[str, Any]:
    parts, start = (_exact_parts if exact else _parts_by_replacement)(pipe, subject, comparison)
    row = int(subject.test[comparison.position])
    per_column = {column: float(parts[features].sum()) for column, features in subject.groups.items()}
    values = {column: _shown(subject.raw[column].iloc[row]) for column in per_column}
    if exact:
        words = subject.words(parts, row)
        for column in subject.texts & set(per_column):  # without its words, a text is what it lacks
            per_column[column] -= sum(part for word, part in words.items() if subject.column_of(word) == column)
            values[column] = "words that it lacks"
        per_column |= words
        values |= dict.fromkeys(words, "in the text")
    largest = sorted(per_column, key=lambda column: -abs(per_column[column]))[:MOST_COLUMNS]
    return {
        "row": row,
        "truth": str(subject.data.y[row]),
        "predicted": str(pipe.classes_[comparison.predicted]),
        "rival": str(pipe.classes_[comparison.rival]),
        "margin": comparison.margin,
        "start": start,
        "columns": [{"column": column, "value": values[column], "part": per_column[column]} for column in largest],
        "rest": sum(part for column, part in per_column.items() if column not in largest),
    }


def _exact_parts(pipe: Any, subject: Subject, comparison: ComparedRow) -> tuple[np.ndarray, float | None]:
    """The parts of the features in the margin of the row, and the margin of the mean row."""
    X = np.asarray(pipe[:-1].transform(subject.data.frame(subject.test[[comparison.position]])))
    attribution = pipe[-1].attribute(X, np.zeros(X.shape[1]))  # the scaler has subtracted the mean row
    classes = comparison.predicted, comparison.rival
    parts = lead(np.asarray(attribution.contributions)[0].T, *classes)
    start = float(lead(np.asarray(attribution.bias)[:1], *classes)[0])
    if subject.threshold:  # it favours the first of two classes, whatever the row
        start -= subject.threshold if comparison.predicted == 1 else -subject.threshold
    return parts, start


def _parts_by_replacement(pipe: Any, subject: Subject, comparison: ComparedRow) -> tuple[np.ndarray, float | None]:
    """The fall of the margin when all features of a column take their means; the first feature carries it."""
    row = subject.data.X[subject.test[comparison.position]]
    means = np.nanmean(subject.data.X[subject.train], axis=0)
    changed = np.tile(row, (len(subject.groups), 1))
    for place, features in enumerate(subject.groups.values()):
        changed[place, features] = means[features]
    scores = subject.class_scores(pipe, changed)
    parts = np.zeros(len(row))
    if scores is not None:
        margins = scores[:, comparison.predicted] - scores[:, comparison.rival]
        for features, margin in zip(subject.groups.values(), margins):
            parts[features[0]] = comparison.margin - margin
    return parts, None


def _shown(value: Any) -> str:
    """A raw cell as text."""
    if pd.isna(value):
        return "missing"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
