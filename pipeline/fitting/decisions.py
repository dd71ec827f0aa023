"""Decision values: one number per row, positive where a model favours the second class."""

from __future__ import annotations

from typing import Any

import numpy as np

SMALLEST = 1e-12  # a probability of 0 or 1 has no finite log-odds


def decision_values(pipe: Any, X: Any) -> np.ndarray | None:
    """The model's decision function; the log-odds of a model that has only probabilities; None if it has neither."""
    if hasattr(pipe, "decision_function"):
        return np.asarray(pipe.decision_function(X), dtype=np.float64)
    if hasattr(pipe, "predict_proba"):
        p = np.clip(pipe.predict_proba(X)[:, 1], SMALLEST, 1 - SMALLEST)
        return np.log(p) - np.log1p(-p)
    return None
