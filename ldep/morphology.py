"""The two elementary operators of mathematical morphology on R^n."""

from __future__ import annotations

import numpy as np

# Rows per chunk, so that their sums stay in the processor's cache.
CHUNK = 512


def dilate(X: np.ndarray, a: np.ndarray) -> np.ndarray:
    """max_j(x_j + a_j) of each row: it commutes with the supremum."""
    return _in_chunks(X, lambda rows: (rows + a).max(axis=1))


def erode(X: np.ndarray, b: np.ndarray) -> np.ndarray:
    """min_j(x_j + b_j) of each row: it commutes with the infimum."""
    return _in_chunks(X, lambda rows: (rows + b).min(axis=1))


def _in_chunks(X: np.ndarray, operator) -> np.ndarray:
    result = np.empty(len(X))
    for first in range(0, len(X), CHUNK):
        result[first : first + CHUNK] = operator(X[first : first + CHUNK])
    return result
