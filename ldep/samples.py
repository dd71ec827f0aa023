"""From a user's X, y, sample_weight to the samples that a problem is made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight


class Samples(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray


def two_classes(y: np.ndarray, estimator: str) -> tuple[np.ndarray, np.ndarray]:
    """The two classes, and y as -1 (the first) and +1 (the second)."""
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    classes, codes = np.unique(y, return_inverse=True)
    if kind != "binary" or len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. For more than two classes "
            f"wrap the estimator: sklearn.multiclass.OneVsRestClassifier({estimator}())."
        )
    if len(classes) < 2:
        raise ValueError(
            f"{estimator} needs samples of two classes, but y holds the one class {classes.tolist()[0]!r} only."
        )
    return classes, 2.0 * codes - 1.0


def weights(sample_weight, X: np.ndarray, y: np.ndarray, class_weight) -> np.ndarray:
    """Sample weights times class weights, checked."""
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if class_weight is not None:
        # "balanced" counts the samples that are there: a weight of zero is no sample.
        present = weight > 0
        weight = weight.copy()
        weight[present] *= compute_sample_weight(class_weight, y[present])
    return weight


def check_both_present(y: np.ndarray, weight: np.ndarray, estimator: str) -> None:
    """Refuse weights that take one class away."""
    if not ((weight[y > 0] > 0).any() and (weight[y < 0] > 0).any()):
        raise ValueError(f"{estimator} needs samples of two classes: every sample of one class has weight zero.")


def merge(X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Samples:
    """Drop samples of weight zero, merge equal ones, and sort: the loss is a sum, and a sum has no order.

    A fit then depends on the samples as a weighted set: repeating a row is the same as doubling its weight, and
    shuffling the rows changes nothing, to the last bit.
    """
    if not (weight > 0).all():
        kept = weight > 0
        X, y, weight = X[kept], y[kept], weight[kept]
    # Sorting by one random projection takes a tenth of the time of sorting by all columns. Summing each row by itself
    # gives equal rows equal keys, which a matrix product does not promise.
    direction = np.random.default_rng(0).uniform(0.5, 1.0, X.shape[1])
    peak = np.abs(X).max() if X.size else 0.0
    key = (X / max(peak, np.finfo(float).tiny) * direction).sum(axis=1)
    order = np.lexsort((y, key))
    X, y, weight, key = X[order], y[order], weight[order], key[order]
    same = (key[1:] == key[:-1]) & (y[1:] == y[:-1])
    candidates = np.flatnonzero(same)
    same[candidates] = (X[candidates + 1] == X[candidates]).all(axis=1)
    first = np.flatnonzero(np.concatenate([[True], ~same]))
    if len(first) == len(X):
        return Samples(X, y, weight)
    return Samples(X[first], y[first], np.add.reduceat(weight, first))
