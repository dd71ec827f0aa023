"""Decision values: how much a model favours each class.

With two classes one number per row, positive where the second class is favoured. With more classes one column per
class; the largest is favoured.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SMALLEST = 1e-12  # a probability of 0 or 1 has no finite log-odds


def decision_values(pipe: Any, X: Any) -> np.ndarray | None:
    """The model's decision function; the log-odds of a model that has only probabilities; None if it has neither."""
    if hasattr(pipe, "decision_function"):
        return np.asarray(pipe.decision_function(X), dtype=np.float64)
    if hasattr(pipe, "predict_proba"):
        p = np.clip(pipe.predict_proba(X), SMALLEST, 1 - SMALLEST)
        return np.log(p) if p.shape[1] > 2 else np.log(p[:, 1]) - np.log1p(-p[:, 1])
    return None


def class_columns(values: np.ndarray, known: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Decision values with one column for each of `classes`, of which a model knows only some.

    A class without training rows, which a split by time or by group can leave, gets less than every other class.
    """
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    if len(known) == len(classes):
        return values
    columns = np.repeat(values.min(axis=1, keepdims=True) - 1, len(classes), axis=1)
    columns[:, np.searchsorted(classes, known)] = values
    return columns
