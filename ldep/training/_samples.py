"""From a user's X, y and sample_weight to the samples that a training problem is made of.

A feature with missing values gets a further column, which is 1 where the value is missing. The mean of the feature
replaces the missing value. A piece therefore learns two numbers for such a feature: the slope, and what it adds instead
of slope times value where there is none. Both are trained and penalised like every other slope.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Number, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_non_negative

from ldep.model import Maxima, Missing


class Samples(NamedTuple):
    """Checked samples. y is -1 or +1 when there are two classes, else the index of the class."""

    X: Any  # ndarray or csr_array
    y: np.ndarray
    weight: np.ndarray


def encode_classes(y: np.ndarray, estimator: str) -> tuple[np.ndarray, np.ndarray]:
    """The classes in ascending order, and y as `Samples` has it."""
    kind = _check_labels(y)
    classes, codes = np.unique(y, return_inverse=True)
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"{estimator} needs one class per row, but the type of y is {kind}.")
    if len(classes) < 2:
        raise ValueError(
            f"{estimator} needs samples of two classes, but y holds the one class {classes.tolist()[0]!r} only."
        )
    return classes, encoded(codes, len(classes))


def encoded(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """y as `Samples` has it, from numbers of classes."""
    return 2.0 * codes - 1.0 if n_classes == 2 else codes.astype(np.float64)


def two_classes(y: np.ndarray, estimator: str) -> tuple[np.ndarray, np.ndarray]:
    """The two classes, and y as -1 (the first class) and +1 (the second)."""
    kind = _check_labels(y)
    if kind != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. For more than two classes "
            f"wrap the estimator: sklearn.multiclass.OneVsRestClassifier({estimator}())."
        )
    return encode_classes(y, estimator)


def _check_labels(y: np.ndarray) -> str:
    """The kind of target, or an error when it has no classes."""
    types = {type(label).__name__ for label in y} if y.dtype == object else set()
    if "str" in types and len(types) > 1:
        raise ValueError(f"The labels in y must be of one type, but there are {', '.join(sorted(types))}.")
    check_classification_targets(y)
    return type_of_target(y, input_name="y", raise_unknown=True)


def own_class(y: np.ndarray, n_classes: int) -> np.ndarray:
    """Index of the class of each sample, from y as `Samples` has it."""
    return (y > 0).astype(np.intp) if n_classes == 2 else y.astype(np.intp)


def check_weights(sample_weight, y: np.ndarray, class_weight) -> np.ndarray:
    """Sample weights times class weights, checked.

    "balanced" gives all classes the same total weight, sample weights included. y has the classes as the user wrote
    them.
    """
    if sample_weight is None or isinstance(sample_weight, Number):
        weight = np.full(len(y), 1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    else:
        weight = check_array(sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight")
    if weight.shape != y.shape:
        raise ValueError(
            f"sample_weight has the shape {weight.shape}, but there are {len(y)} samples: one weight each."
        )
    check_non_negative(weight, "`sample_weight`")
    if class_weight is None:
        return weight
    if class_weight == "balanced":
        return weight * _balanced(y, weight)
    return weight * compute_sample_weight(class_weight, y)


def _balanced(y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Factors that give all classes the same total weight.

    scikit-learn's factors count the samples. These count their weights, so that a weight is a repetition here too; they
    are scikit-learn's, to 12 digits, where all weights are 1. They have 40 bits, so their products with whole weights
    up to 8,192 and the sums of these are exact: otherwise rounding would tell a weight from a repetition.
    """
    classes, codes = np.unique(y, return_inverse=True)
    totals = np.array([math.fsum(weight[codes == code]) for code in range(len(classes))])
    present = totals > 0
    factors = np.ones(len(classes))
    mantissa, exponent = np.frexp(math.fsum(totals) / (present.sum() * totals[present]))
    factors[present] = np.ldexp(np.rint(np.ldexp(mantissa, 40)), exponent - 40)
    return factors[codes]


def check_all_present(y: np.ndarray, weight: np.ndarray, classes: np.ndarray, estimator: str) -> None:
    """Refuse weights that remove a class."""
    present = np.unique(own_class(y[weight > 0], len(classes)))
    absent = np.delete(classes, present)
    if len(absent):
        raise ValueError(
            f"{estimator} needs samples of {'two' if len(classes) == 2 else 'all'} classes: every sample of class "
            f"{absent.tolist()[0]!r} has weight zero."
        )


def merge(X: Any, y: np.ndarray, weight: np.ndarray) -> Samples:
    """Drop samples of weight zero, merge equal ones, and sort: the loss is a sum, and a sum has no order.

    A fit then depends on the samples as a weighted set: repeating a row is the same as doubling its weight, and
    shuffling the rows changes nothing, to the last bit.
    """
    if not (weight > 0).all():
        positive = weight > 0
        X, y, weight = X[positive], y[positive], weight[positive]
    X, order, same = _sorted_sparse(X, y) if sparse.issparse(X) else _sorted_dense(X, y)
    y, weight = y[order], weight[order]
    first = np.flatnonzero(np.concatenate([[True], ~same]))
    if len(first) == len(y):
        return Samples(X, y, weight)
    return Samples(X[first], y[first], _exact_sums(weight, first))


def _sorted_dense(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sorted rows, their order, and whether each row but the first equals the one before it, class included."""
    # Sorting by one random projection takes a tenth of the time of sorting by all columns. Summing each row by itself
    # gives equal rows equal keys, which a matrix product does not promise.
    direction = np.random.default_rng(0).uniform(0.5, 1.0, X.shape[1])
    peak = np.abs(X).max() if X.size else 0.0
    key = (X / max(peak, np.finfo(float).tiny) * direction).sum(axis=1)
    order = _sort_ties(np.lexsort((y, key)), key, y, X)
    X = X[order]
    X += 0.0  # -0.0 equals 0.0, and which of the two is kept must not depend on the order
    same = _ties(order, key, y)
    candidates = np.flatnonzero(same)
    same[candidates] = (X[candidates + 1] == X[candidates]).all(axis=1)
    return X, order, same


def _sorted_sparse(X: sparse.csr_array, y: np.ndarray) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """Do as `_sorted_dense`, with sparse rows; explicit zeros are removed."""
    X = sparse.csr_array(X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    direction = np.random.default_rng(0).uniform(0.5, 1.0, X.shape[1])
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    peak = max(np.abs(X.data).max(initial=0.0), np.finfo(float).tiny)
    key = np.bincount(row, X.data / peak * direction[X.indices], minlength=X.shape[0])
    order = np.lexsort((y, key))
    # Different rows may share a key: the stored entries decide among rows of one key and class.
    content = np.zeros(len(y), dtype=np.intp)
    tied = _ties(order, key, y)
    rows = order[np.append(tied, False) | np.insert(tied, 0, False)]
    entries = [_entries(X, row) for row in rows]
    ranks = {entry: rank for rank, entry in enumerate(sorted(set(entries)))}
    content[rows] = [ranks[entry] for entry in entries]
    order = np.lexsort((content, y, key))
    same = _ties(order, key, y) & (np.diff(content[order]) == 0)
    return X[order], order, same


def _entries(X: sparse.csr_array, row: int) -> bytes:
    """The stored entries of a row; equal for equal rows."""
    stored = slice(X.indptr[row], X.indptr[row + 1])
    return X.indices[stored].tobytes() + X.data[stored].tobytes()


def _ties(order: np.ndarray, key: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether each row but the first, in this order, has the key and the class of the one before it."""
    return (np.diff(key[order]) == 0) & (np.diff(y[order]) == 0)


def _sort_ties(order: np.ndarray, key: np.ndarray, y: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The order with runs of equal key and class sorted by all columns: different rows may share a key."""
    tied = _ties(order, key, y)
    if not tied.any():
        return order
    run = np.cumsum(np.concatenate([[True], ~tied]))
    in_run = np.concatenate([[False], tied]) | np.concatenate([tied, [False]])
    rows = order[in_run]
    order = order.copy()
    order[in_run] = rows[np.lexsort((*X[rows].T[::-1], run[in_run]))]
    return order


def _exact_sums(weight: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Sums of the weights from each of the positions `first` to the next, rounded once: in any order the same.

    A row of weight w that stands k times then weighs as much as one of weight k w.
    """
    sums = np.add.reduceat(weight, first)
    if (weight == np.rint(weight)).all() and sums.sum() < 2**53:  # sums of integers are exact already
        return sums
    ends = np.append(first[1:], len(weight))
    for group in np.flatnonzero(ends - first > 1):
        sums[group] = math.fsum(weight[first[group] : ends[group]])
    return sums


def check_monotone(
    monotone, n_features: int, feature_names: np.ndarray | None, n_classes: int = 2
) -> np.ndarray | None:
    """+1 for features in which tau must not fall, -1 where it must not rise, 0 elsewhere; None if none is constrained.

    `monotone` is the parameter of an estimator: one direction per feature, or a dict by names or numbers of features.
    """
    if monotone is None:
        return None
    if isinstance(monotone, Mapping):
        signs = np.zeros(n_features)
        keys: dict[int, object] = {}
        for key, sign in monotone.items():
            index = _feature_index(key, n_features, feature_names)
            if index in keys:
                raise ValueError(f"monotone: {keys[index]!r} and {key!r} are the same feature; name it once.")
            keys[index] = key
            signs[index] = _sign(sign, f"feature {key!r}")
    else:
        values = np.asarray(monotone)
        if values.shape != (n_features,):
            raise ValueError(
                f"monotone has the shape {values.shape}, but X has {n_features} features: pass one value per feature, "
                "or a dict from features to directions."
            )
        signs = np.array([_sign(sign, f"feature {index}") for index, sign in enumerate(values.tolist())])
    if not signs.any():
        return None
    if n_classes > 2:
        raise ValueError(
            f"monotone needs two classes, but there are {n_classes}: with more, a feature can raise the scores of "
            "several classes, and no direction is defined."
        )
    return signs


def _sign(value, feature: str) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or value not in (-1, 0, 1):
        raise ValueError(
            f"monotone: the direction of {feature} is {value!r}; it must be +1 (the decision value never falls), -1 "
            "(it never rises) or 0."
        )
    return float(value)


def _feature_index(key, n_features: int, feature_names: np.ndarray | None) -> int:
    if isinstance(key, str):
        if feature_names is None:
            raise ValueError(
                f"monotone names the feature {key!r}, but X has no column names. Pass a data frame, or use indices."
            )
        positions = np.flatnonzero(feature_names == key)
        if not len(positions):
            close = difflib.get_close_matches(key, feature_names, n=1)
            hint = f"Did you mean {str(close[0])!r}?" if close else f"X has {', '.join(map(repr, feature_names[:10]))}"
            raise ValueError(f"monotone names the feature {key!r}, which X does not have. {hint}")
        return int(positions[0])
    if isinstance(key, bool | np.bool_) or not isinstance(key, Integral):
        raise ValueError(f"monotone: {key!r} is neither the name nor the index of a feature.")
    if not 0 <= int(key) < n_features:
        raise ValueError(f"monotone: there is no feature {key}; X has the features 0 to {n_features - 1}.")
    return int(key)


@dataclass(frozen=True)
class MissingValues:
    """The features that may have missing values, by number, and the mean of each."""

    features: np.ndarray
    means: np.ndarray

    @classmethod
    def in_rows(cls, X: Any, weight: np.ndarray, names: list[str], known: Missing | None = None) -> MissingValues:
        """Find the features with missing values, now or in an earlier fit."""
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
