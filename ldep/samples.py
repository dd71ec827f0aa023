"""From a user's X, y and sample_weight to the samples that a training problem is made of."""

from __future__ import annotations

from numbers import Number
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_non_negative


class Samples(NamedTuple):
    """Checked samples, with y = -1 or +1."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray


def two_classes(y: np.ndarray, estimator: str) -> tuple[np.ndarray, np.ndarray]:
    """The two classes, and y as -1 (the first class) and +1 (the second)."""
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


def check_weights(sample_weight, y: np.ndarray, class_weight) -> np.ndarray:
    """Sample weights times class weights, checked.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), float or None
        Weights of the samples; None is 1.
    y : ndarray of shape (n_samples,)
        The classes, as the user wrote them.
    class_weight : dict, "balanced" or None
        Weights of the classes, as elsewhere in scikit-learn.

    Returns
    -------
    weight : ndarray of shape (n_samples,)
        The weights of the samples' losses.
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
    # "balanced" counts the samples that are there: one of weight zero is not.
    present = weight > 0
    if class_weight is not None and present.any():
        weight = weight.copy()
        weight[present] *= compute_sample_weight(class_weight, y[present])
    return weight


def check_both_present(y: np.ndarray, weight: np.ndarray, estimator: str) -> None:
    """Refuse weights that remove one class."""
    if not ((weight[y > 0] > 0).any() and (weight[y < 0] > 0).any()):
        raise ValueError(f"{estimator} needs samples of two classes: every sample of one class has weight zero.")


def merge(X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Samples:
    """Drop samples of weight zero, merge equal ones, and sort: the loss is a sum, and a sum has no order.

    A fit then depends on the samples as a weighted set: repeating a row is the same as doubling its weight, and
    shuffling the rows changes nothing, to the last bit.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The samples.
    y : ndarray of shape (n_samples,)
        Their classes, as -1 and +1.
    weight : ndarray of shape (n_samples,)
        Their weights.

    Returns
    -------
    samples : Samples
        Distinct samples of positive weight, in an order that does not depend on that of the input.
    """
    if not (weight > 0).all():
        positive = weight > 0
        X, y, weight = X[positive], y[positive], weight[positive]
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
