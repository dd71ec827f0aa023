"""Columns that give the target away: with one of them alone, the classes can be told apart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

FOLDS = 5
BINS = 20
# An area under the ROC curve that a single honest feature hardly reaches.
SUSPICIOUS = 0.99
# Less is suspicious too where the next best column is far behind.
HIGH, AHEAD = 0.9, 0.15


def suspicious_columns(features: pd.DataFrame, target: pd.Series) -> dict[str, float]:
    """Return the columns that tell a class apart almost perfectly, with the area under the ROC curve of each."""
    areas = {str(name): _area(features[name], target) for name in features.columns}
    ordered = sorted(areas.values(), reverse=True)
    # The columns above a wide gap.
    least = min(
        (area for area, next_area in pairwise(ordered) if area >= HIGH and area - next_area >= AHEAD), default=1
    )
    return {name: area for name, area in areas.items() if area >= min(least, SUSPICIOUS)}


def _area(cells: pd.Series, target: pd.Series) -> float:
    """The mean over the classes of the area under the ROC curve of a class against the rest.

    The score of a row is the share of the class among other rows with the same category, or in the same twentieth of
    the values. It is computed without the row's own fold, so a column of distinct values says nothing.
    """
    groups = _groups(cells)
    folds = np.random.default_rng(0).permutation(len(cells)) % FOLDS
    codes = target.cat.codes.to_numpy()
    areas = []
    for label in range(len(target.cat.categories)):
        positive = codes == label
        if 0 < positive.sum() < len(positive):
            areas.append(_auc(_out_of_fold_shares(groups, positive, folds), positive))
    return float(np.mean(areas)) if areas else 0.5


def _groups(cells: pd.Series) -> np.ndarray:
    """The category or the quantile of each cell, as a number; missing cells are a group of their own."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return cells.cat.codes.to_numpy().astype(np.int64) + 1
    values = cells.to_numpy(dtype=np.float64)
    present = values[~np.isnan(values)]
    edges = np.unique(present)
    if len(edges) > BINS:
        edges = np.unique(np.quantile(present, np.arange(BINS) / BINS, method="lower"))
    return np.where(np.isnan(values), 0, np.searchsorted(edges, values, side="right"))


def _out_of_fold_shares(groups: np.ndarray, positive: np.ndarray, folds: np.ndarray) -> np.ndarray:
    n_groups = int(groups.max()) + 1
    shares = np.empty(len(groups))
    for fold in range(FOLDS):
        outside, inside = folds != fold, folds == fold
        count = np.bincount(groups[outside], minlength=n_groups)
        hits = np.bincount(groups[outside], weights=positive[outside], minlength=n_groups)
        overall = positive[outside].mean() if outside.any() else 0.5
        shares[inside] = ((hits + overall) / (count + 1.0))[groups[inside]]
    return shares


def _auc(scores: np.ndarray, positive: np.ndarray) -> float:
    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    ranks = pd.Series(scores).rank().to_numpy()
    return float((ranks[positive].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))
