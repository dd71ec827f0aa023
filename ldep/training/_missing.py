"""Missing values in the rows that a model is trained on.

A feature that misses values gets a column of its own that is 1 where it does. Where the value is missing, its mean
stands in for it. A piece therefore learns two numbers for such a feature: the slope, and what it adds in the place of
slope times value where there is none. Both are trained and penalised like every other slope.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ldep.model import Maxima, Missing
from ldep.training._samples import merge


@dataclass(frozen=True)
class MissingValues:
    """The features that may miss values, by number, and the mean of each."""

    features: np.ndarray
    means: np.ndarray

    @classmethod
    def in_rows(cls, X: Any, weight: np.ndarray, names: list[str], known: Missing | None = None) -> MissingValues:
        """Find the features that miss values, and those that did in an earlier fit."""
        if sparse.issparse(X):
            if np.isnan(X.data).any():
                raise ValueError("A sparse X must not have missing values. Fill them in, or pass X.toarray().")
            return cls(np.empty(0, dtype=np.intp), np.empty(0))
        is_missing = np.isnan(X)
        found = np.flatnonzero(is_missing.any(axis=0))
        features = found if known is None else np.union1d(found, known.features)
        for feature in features:
            if not (weight[~is_missing[:, feature]] > 0).any():
                name = names[feature]
                raise ValueError(f"The feature {name!r} has no value in any row with positive weight. Leave it out.")
        return cls(features, np.array([_mean(X[:, feature], weight) for feature in features]))

    def with_indicators(self, X: Any) -> Any:
        """The rows without missing values, followed by one column per feature of `features`."""
        if not len(self.features):
            return X
        is_missing = np.isnan(X[:, self.features])
        filled = X.copy()
        filled[:, self.features] = np.where(is_missing, self.means, X[:, self.features])
        return np.hstack([filled, is_missing])

    def without_indicators(self, X: Any) -> Any:
        """The rows with missing values again."""
        if not len(self.features):
            return X
        n = X.shape[1] - len(self.features)
        rows = X[:, :n].copy()
        rows[:, self.features] = np.where(X[:, n:] > 0, np.nan, rows[:, self.features])
        return rows

    def with_free_indicators(self, monotone: np.ndarray | None) -> np.ndarray | None:
        """The directions of the features, and none for the columns that follow them."""
        return None if monotone is None else np.append(monotone, np.zeros(len(self.features)))

    def fitted(self, maxima: Maxima) -> Maxima:
        """The model of rows with missing values, from one of rows with indicators."""
        if not len(self.features):
            return maxima
        n = maxima.n_features - len(self.features)
        shift = self.means - maxima.center[self.features]
        added = [w[:, n:] + w[:, self.features] * shift for w in maxima.slopes]
        slopes = [np.ascontiguousarray(w[:, :n]) for w in maxima.slopes]
        offsets = [c - w[:, n:] @ maxima.center[n:] for c, w in zip(maxima.offsets, maxima.slopes)]
        missing = Missing(self.features, added)
        return replace(maxima, slopes=slopes, offsets=offsets, center=maxima.center[:n], missing=missing)

    def unfitted(self, maxima: Maxima) -> Maxima:
        """The model of rows with indicators, from one of rows with missing values: where training resumes."""
        if not len(self.features):
            return maxima
        shift = self.means - maxima.center[self.features]
        slopes = []
        for g, w in enumerate(maxima.slopes):
            added = np.zeros((len(w), len(self.features)))
            if maxima.missing is not None:
                known = np.isin(self.features, maxima.missing.features)
                added[:, known] = maxima.missing.added[g] - (w[:, self.features] * shift)[:, known]
            slopes.append(np.hstack([w, added]))
        center = np.append(maxima.center, np.zeros(len(self.features)))
        return replace(maxima, slopes=slopes, center=center, missing=None)


def _mean(column: np.ndarray, weight: np.ndarray) -> float:
    """The weighted mean of the values that are there, the same whatever the order of the rows and their repetitions."""
    there = ~np.isnan(column)
    values = merge(column[there, None], np.zeros(there.sum()), weight[there])
    return float((values.weight * values.X[:, 0]).sum() / values.weight.sum())
