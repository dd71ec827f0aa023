"""How the score on unseen rows depends on the number of training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.fitting.fit import FitTask
from pipeline.registry.examination.subject import Subject, fit

SHARES = (0.1, 0.3)
FEWEST_PER_CLASS = 3


def learning_curve(task: FitTask, settings: dict[str, Any], subject: Subject, pipe: Any) -> list[dict[str, float]]:
    """The score of models that were fitted on 10, 30 and 100 % of the training rows; `pipe` is the last of them.

    The smaller samples are parts of the larger ones. A sample that lacks rows of a class is left out. An ensemble has
    no curve: it belongs to the inner folds of a study.
    """
    if task.entry.ensemble is not None:
        return []
    order = np.random.default_rng(task.seed).permutation(subject.train)
    points = []
    for share in SHARES:
        rows = np.sort(order[: round(share * len(order))])
        if _has_every_class(subject.data.y, rows):
            points.append(_point(fit(task, settings, subject, rows), len(rows), subject))
    return [*points, _point(pipe, len(order), subject)]


def _point(pipe: Any, rows: int, subject: Subject) -> dict[str, Any]:
    return {"rows": rows, "score": subject.score(pipe, subject.data.X[subject.test], subject.test)}


def _has_every_class(y: np.ndarray, rows: np.ndarray) -> bool:
    counts = [int(np.count_nonzero(y[rows] == label)) for label in np.unique(y)]
    return min(counts) >= FEWEST_PER_CLASS
