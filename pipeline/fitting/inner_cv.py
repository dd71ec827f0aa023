"""Fitting a model that cross-validates inside: it gets folds by time or by group where the data set is split so."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from pipeline.fitting.partition import Partition

DEFAULT = 5  # scikit-learn's number of folds where `cv` is None


def fit(
    pipe: Pipeline, X: np.ndarray | pd.DataFrame, y: np.ndarray, partition: Partition, rows: np.ndarray, seed: int
) -> None:
    """Fit a pipeline on X and y, the given rows of a data set. `rows` is a mask, or row numbers in rising order.

    A parameter `cv` of the model that is a number is replaced during the fit. Nothing changes for stratified folds,
    and for models without such a parameter.
    """
    model = pipe[-1]
    cv = model.get_params(deep=False).get("cv", "none")
    by_column = partition.group is not None or partition.time is not None
    if not by_column or not (cv is None or isinstance(cv, Integral)):
        pipe.fit(X, y)
        return
    inner = _within(partition, rows)
    everything = np.arange(len(y))
    count = inner.inner_fold_count(everything, y, int(cv or DEFAULT), seed)
    model.set_params(cv=inner.inner_splits(everything, y, count, seed))
    try:
        pipe.fit(X, y)
    finally:
        model.set_params(cv=cv)  # the row numbers are of no use in a stored model


def _within(partition: Partition, rows: Any) -> Partition:
    """The same kind of partition for some of the rows, numbered from 0."""
    group = partition.group[rows] if partition.group is not None else None
    time = partition.time[rows] if partition.time is not None else None
    return Partition(partition.test_fold[rows], group, time)
