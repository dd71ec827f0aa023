"""Which raw columns the model looks at.

An ℓ-DEP says so itself: `explain_global` gives the mean absolute share of each feature in its decision values. For any
other model a column is shuffled among the rows, and the loss of score says what the model loses without it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.fitting.metrics import METRICS
from pipeline.registry.examination.explained_rows import can_attribute
from pipeline.registry.examination.subject import Subject

MOST_ROWS = {"shares": 400, "permutation": 2000}
REPEATS, MOST_PREDICTIONS = 5, 250  # shuffles of each column, and of all columns together


def importance(pipe: Any, subject: Subject, seed: int) -> dict[str, Any]:
    """`method` and `columns`: the importance of each raw column on unseen rows, the largest first."""
    method = "shares" if can_attribute(pipe[-1]) else "permutation"
    rows = _sample(subject.test, MOST_ROWS[method])
    measure = _shares if method == "shares" else _losses
    values = measure(pipe, subject, rows, seed)
    order = sorted(values, key=lambda column: -values[column])
    return {"method": method, "rows": len(rows), "columns": {column: values[column] for column in order}}


def _shares(pipe: Any, subject: Subject, rows: np.ndarray, seed: int) -> dict[str, float]:
    """The part of each column in the sum of the mean absolute shares."""
    X = pipe[:-1].transform(subject.data.frame(rows))
    per_feature = np.asarray(pipe[-1].explain_global(np.asarray(X)).importance)
    total = float(per_feature.sum()) or 1.0
    return {column: float(per_feature[features].sum()) / total for column, features in subject.groups.items()}


def _losses(pipe: Any, subject: Subject, rows: np.ndarray, seed: int) -> dict[str, float]:
    """The mean loss of score when the cells of a column are shuffled; features of one column stay together."""
    rng = np.random.default_rng(seed)
    X = subject.data.X[rows]
    whole = subject.score(pipe, X, rows)
    repeats = int(np.clip(MOST_PREDICTIONS // len(subject.groups), 1, REPEATS))
    losses = {}
    for column, features in subject.groups.items():
        scores = []
        for _ in range(repeats):
            shuffled = X.copy()
            shuffled[:, features] = X[rng.permutation(len(rows))][:, features]
            scores.append(subject.score(pipe, shuffled, rows))
        known = [score for score in scores if score is not None]
        losses[column] = (
            METRICS[subject.metric].gain(whole, float(np.mean(known))) if known and whole is not None else 0.0
        )
    return losses


def _sample(rows: np.ndarray, most: int) -> np.ndarray:
    """At most so many rows, evenly spaced."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]
