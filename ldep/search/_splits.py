"""The training and test parts of a cross-validation."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

from ldep.training import Samples, own_class

DEFAULT_FOLDS = 5


# Of more rows than MANY_ROWS the search sees a sample of SEARCH_ROWS. Chosen on the tables of `benchmarks/collection`
# and on generated ones of 20,000 and 100,000 rows.
MANY_ROWS, SEARCH_ROWS = 6250, 5000


class Split(NamedTuple):
    """Row numbers of a training part and of its test part."""

    train: np.ndarray
    test: np.ndarray


def make_splits(cv, rows: Samples, classes: np.ndarray, seed: int) -> list[Split]:
    """Split the rows.

    An int is the number of stratified, shuffled folds over the rows with positive weight; None is 5. Every training
    part has rows of all classes. There are no splits if the rows are too few for two.
    """
    if cv is None or isinstance(cv, Integral):
        n_folds = DEFAULT_FOLDS if cv is None else int(cv)
        return _folds(n_folds, rows, len(classes), seed)
    labels = classes[own_class(rows.y, len(classes))]
    splits = [Split(np.asarray(train), np.asarray(test)) for train, test in check_cv(cv, labels).split(rows.X, labels)]
    for number, split in enumerate(splits):
        _check_parts(number, split, rows, classes)
    if not splits:
        raise ValueError("cv: there are no splits.")
    return splits


def sample_of_rows(rows: Samples, n_classes: int, n_folds: int, seed: int) -> Samples:
    """A sample of the rows with positive weight, in which each class has its share, or at least a row per fold."""
    rng = np.random.default_rng(seed)
    own = own_class(rows.y, n_classes)
    present = np.flatnonzero(rows.weight > 0)
    chosen = []
    for number in range(n_classes):
        of_class = present[own[present] == number]
        size = max(round(SEARCH_ROWS * len(of_class) / len(present)), min(n_folds, len(of_class)))
        chosen.append(rng.choice(of_class, size, replace=False))
    taken = np.sort(np.concatenate(chosen))
    return Samples(rows.X[taken], rows.y[taken], rows.weight[taken])


def apportioned(shares: np.ndarray, n_seats: int) -> np.ndarray:
    """The winner of each seat by largest remainders: the largest share has the first seats."""
    quota = shares / shares.sum() * n_seats
    seats = np.floor(quota).astype(int)
    for winner in np.argsort(-(quota - seats), kind="stable")[: n_seats - seats.sum()]:
        seats[winner] += 1
    order = np.argsort(-shares, kind="stable")
    return np.repeat(order, seats[order])


def _folds(n_folds: int, rows: Samples, n_classes: int, seed: int) -> list[Split]:
    """Folds over which the rows of each class are spread.

    Of two classes each has rows in all folds. With many classes one of them is often rare, and fewer folds would leave
    fewer rows of all others to train on. So the rows of a rare class are in some test parts only. A single row of a
    class is in all training parts.
    """
    present = np.flatnonzero(rows.weight > 0)
    _, codes, counts = np.unique(rows.y[present], return_inverse=True, return_counts=True)
    n_folds = min(n_folds, counts.min() if n_classes == 2 else counts.max())
    if n_folds < 2:
        return []
    divided, single = present[counts[codes] > 1], present[counts[codes] == 1]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        parts = list(folds.split(rows.X[divided], rows.y[divided]))
    return [Split(np.sort(np.concatenate([divided[train], single])), divided[test]) for train, test in parts]


def _check_parts(number: int, split: Split, rows: Samples, classes: np.ndarray) -> None:
    """Refuse parts that cannot be used."""
    train = split.train[rows.weight[split.train] > 0]
    present = np.unique(own_class(rows.y[train], len(classes)))
    if len(present) < 2:
        raise ValueError(f"cv: training part {number} has no samples, or samples of one class only.")
    if len(present) < len(classes):
        absent = np.delete(classes, present).tolist()[0]
        raise ValueError(f"cv: training part {number} has no samples of class {absent!r}.")
    if not (rows.weight[split.test] > 0).any():
        raise ValueError(f"cv: test part {number} has no samples with positive weight.")
