"""Contributions as an object of the package shap, for its plots. shap is not a dependency."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_shap(values: Any, base_values: np.ndarray, rows: Any, names: list[str] | None) -> Any:
    """Return a `shap.Explanation`.

    Parameters
    ----------
    values : array of shape (n_samples, n_features) or (n_samples, n_classes, n_features), or sparse
        The contributions.
    base_values : ndarray of shape (n_samples,) or (n_samples, n_classes)
        What the contributions are added to.
    rows : array-like of shape (n_samples, n_features) or None
        The rows, whose values the plots show.
    names : list of str or None
        Names of the features; None are the columns of `rows`, if it is a data frame.
    """
    try:
        import shap
    except ImportError as error:
        raise ImportError("to_shap needs the package shap: pip install shap.") from error
    table = values.toarray() if hasattr(values, "toarray") else np.asarray(values, dtype=float)
    if table.ndim == 3:
        table = np.moveaxis(table, 1, 2)  # shap has the classes last
    if names is None and hasattr(rows, "columns"):
        names = [str(name) for name in rows.columns]
    data = rows.toarray() if hasattr(rows, "toarray") else rows if rows is None else np.asarray(rows)
    return shap.Explanation(values=table, base_values=base_values, data=data, feature_names=names)
