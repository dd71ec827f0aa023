"""Results in the user's kind of data frame.

Neither pandas nor polars is a dependency of the library. Each is imported only where X is a frame of that library, and
is therefore installed.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data


def is_frame(X) -> bool:
    """Whether X is a pandas or polars DataFrame."""
    return _is_pandas_frame(X) or _is_polars_frame(X)


def frame_like(X, features: np.ndarray, extra: dict[str, np.ndarray]):
    """A frame of the library of X, with its columns and its index, the values `features`, and further columns."""
    if _is_polars_frame(X):
        import polars as pl

        return pl.DataFrame(dict(zip(X.columns, features.T)) | extra)
    import pandas as pd

    frame = pd.DataFrame(features, index=X.index, columns=X.columns)
    return pd.concat([frame, pd.DataFrame(extra, index=X.index)], axis=1)


def check_collected(X) -> None:
    """Refuse a polars LazyFrame, which numpy would read as a single object."""
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(X, polars.LazyFrame):
        raise TypeError("X is a polars LazyFrame, which has no values yet. Pass X.collect().")


def _is_pandas_frame(X) -> bool:
    return hasattr(X, "columns") and hasattr(X, "index")


def _is_polars_frame(X) -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(X, polars.DataFrame)


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
