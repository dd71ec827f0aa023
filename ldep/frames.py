"""Results in the user's kind of data frame.

Neither pandas nor polars is a dependency of the library. Each is imported only where X is a frame of that library, and
is therefore installed.
"""

from __future__ import annotations

import sys

import numpy as np


def is_frame(X) -> bool:
    """Whether X is a pandas or polars DataFrame."""
    return _is_pandas_frame(X) or _is_polars_frame(X)


def frame_like(X, features: np.ndarray, extra: dict[str, np.ndarray]):
    """A frame of the library of X, with the columns and, where there is one, the index of X.

    Parameters
    ----------
    X : pandas.DataFrame or polars.DataFrame
        The frame whose rows the values belong to.
    features : ndarray of shape (n_samples, n_features)
        Values of the columns of X.
    extra : dict of ndarrays of shape (n_samples,)
        Further columns.

    Returns
    -------
    frame : pandas.DataFrame or polars.DataFrame
        All columns, those of X first.
    """
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
