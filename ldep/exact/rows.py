"""Checking the rows of a question, and naming their features."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ldep.frames import frame_like, is_frame


def feature_names(estimator) -> list[str]:
    """Names of the features: those of the training data, or x0, x1, ..."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"x{number}" for number in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def check_rows(estimator, X) -> np.ndarray:
    """The rows as numbers. A missing value is refused by its place."""
    check_is_fitted(estimator)
    rows = validate_data(estimator, X, dtype=np.float64, order="C", reset=False, ensure_all_finite=False)
    missing = ~np.isfinite(rows)
    if missing.any():
        row, column = np.argwhere(missing)[0]
        value = "NaN" if np.isnan(rows[row, column]) else "an infinite value"
        name = feature_names(estimator)[column]
        raise ValueError(f"Row {row} has {value} in {name!r}: fill in the value before asking about the row.")
    return rows


def like_input(values: np.ndarray, X):
    """A frame of the same library, with the columns and the index of X, when X is a pandas or polars DataFrame."""
    return frame_like(X, values, {}) if is_frame(X) else values
