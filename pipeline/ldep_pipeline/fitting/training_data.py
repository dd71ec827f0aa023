"""A data set as models are fitted on it, and which of its rows each fold of a cross-validation fits and tests on.

There are three kinds of folds. Stratified folds keep the shares of the classes. Folds by group keep all rows of a group
(a customer, a patient) together. Folds by time chain forward: the rows are cut into consecutive blocks, and a block is
predicted from all earlier ones, so that the first block is never in a test part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

NEVER_TESTED = -1  # the fold of the rows in the first block by time

RowNumbers = np.ndarray
Splits = list[tuple[RowNumbers, RowNumbers]]
"""Row numbers of the training part and of the test part, one pair per fold."""


@dataclass(frozen=True)
class Partition:
    """The folds of a data set, numbered `repeat * folds_per_repeat + k`.

    `test_fold` (rows, repeats) has the k in whose test part a row is. `group` has the number of each row's group,
    `time` the position of each row in time; at most one of them is given.
    """

    test_fold: np.ndarray
    group: np.ndarray | None = None
    time: np.ndarray | None = None

    @property
    def repeats(self) -> int:
        return self.test_fold.shape[1]

    @property
    def folds_per_repeat(self) -> int:
        return int(self.test_fold.max()) + 1

    @property
    def n_folds(self) -> int:
        """The number of folds of all repeats."""
        return self.repeats * self.folds_per_repeat

    def in_words(self) -> str:
        """How the rows are split, as a phrase."""
        kind = f"{self.folds_per_repeat}-fold cross-validation"
        if self.group is not None:
            kind += " that keeps the rows of a group together"
        if self.time is not None:
            kind += " by time (trained on earlier rows, tested on later ones)"
        return kind if self.repeats == 1 else f"{kind}, repeated {self.repeats} times"

    def test_rows(self, fold: int) -> np.ndarray:
        """A mask of the rows that test a model of this fold."""
        repeat, number = divmod(fold, self.folds_per_repeat)
        return self.test_fold[:, repeat] == number

    def train_rows(self, fold: int) -> np.ndarray:
        """A mask of the rows that a model of this fold is fitted on: the others, or with `time` the earlier ones."""
        repeat, number = divmod(fold, self.folds_per_repeat)
        assigned = self.test_fold[:, repeat]
        return assigned < number if self.time is not None else assigned != number

    def identity(self, fold: int | None) -> str:
        """A digest of what decides the rows of one fold; if `fold` is None, of what decides the inner folds alone.

        It does not depend on the number of repeats: with more of them, finished folds stay finished.
        """
        content = hashlib.sha256()
        parts: list[np.ndarray | None] = [self.group, self.time]
        if fold is not None:
            parts.append(self.test_fold[:, fold // self.folds_per_repeat])
        for part in parts:
            content.update(b"-" if part is None else np.ascontiguousarray(part, dtype=np.int64).tobytes())
        return content.hexdigest()

    def inner_splits(self, rows: RowNumbers, y: np.ndarray, count: int, seed: int) -> Splits:
        """Split some of the rows again into `count` folds of the same kind. `y` has the classes of all rows."""
        if self.time is not None:
            assigned = time_folds(self.time[rows], count)
        elif self.group is not None:
            assigned = group_folds(y[rows], self.group[rows], count, seed)
        else:
            assigned = stratified_folds(y[rows], count, seed)
        inner = Partition(assigned[:, None], time=self.time)
        return [(rows[inner.train_rows(k)], rows[inner.test_rows(k)]) for k in range(count)]

    def inner_fold_count(self, rows: RowNumbers, y: np.ndarray, wanted: int, seed: int) -> int:
        """The largest number of inner folds, up to `wanted`, in which every part has rows of the classes it needs."""
        if self.time is None and self.group is None:
            count = min(wanted, int(np.unique(y[rows], return_counts=True)[1].min()))
            if count < 2:
                raise ValueError("a class has a single row in the training part: no inner cross-validation is possible")
            return count
        for count in range(wanted, 0 if self.time is not None else 1, -1):
            try:
                splits = self.inner_splits(rows, y, count, seed)
            except ValueError:  # fewer groups, or fewer points in time, than folds
                continue
            if all(_has_classes(y, rows, train, test) for train, test in splits):
                return count
        kind = "groups" if self.group is not None else "time"
        raise ValueError(
            f"the training part has too few rows of a class for an inner cross-validation by {kind}: some part would "
            "lack a class"
        )


@dataclass(frozen=True)
class TrainingData:
    """A prepared data set: X (m, n) as float64, y as strings, and the folds of its rows."""

    X: np.ndarray
    y: np.ndarray
    partition: Partition
    columns: list[str]
    target: str

    @property
    def n_folds(self) -> int:
        """The number of outer folds, those of all repeats together."""
        return self.partition.n_folds

    def train_rows(self, fold: int | None) -> np.ndarray:
        """A mask of the rows that a model of this fold is fitted on; of all rows if `fold` is None."""
        return np.ones(len(self.y), dtype=bool) if fold is None else self.partition.train_rows(fold)

    def test_rows(self, fold: int) -> np.ndarray:
        """A mask of the rows that test a model of this fold."""
        return self.partition.test_rows(fold)

    def train_classes(self, fold: int | None) -> np.ndarray:
        """The classes of the rows that a model of this fold is fitted on, in sorted order."""
        return np.unique(self.y[self.train_rows(fold)])

    def largest_training_part(self) -> int:
        """The number of rows in the largest training part. With folds by time this is the last one."""
        return max(int(self.train_rows(fold).sum()) for fold in range(self.n_folds))

    def frame(self, which: Any = slice(None)) -> pd.DataFrame:
        """Rows of X with their column names, which a logged pipeline expects.

        Not copied column by column, as pandas does by default: in another memory layout a scaler's sums differ in the
        last bit, and an SVC's score in the first digit.
        """
        return pd.DataFrame(self.X[which], columns=self.columns, copy=False)


def stratified_folds(y: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """The test fold of each row: StratifiedKFold(folds, shuffle=True, random_state=seed)."""
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return _test_folds(len(y), splitter.split(np.zeros(len(y)), y))


def group_folds(y: np.ndarray, group: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """The test fold of each row, the same for all rows of a group: StratifiedGroupKFold, shuffled."""
    count = len(np.unique(group))
    if count < folds:
        raise ValueError(f"{count} groups are too few for {folds} folds")
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    return _test_folds(len(y), splitter.split(np.zeros(len(y)), y, group))


def time_folds(time: np.ndarray, folds: int) -> np.ndarray:
    """The test fold of each row when time is cut into `folds` + 1 blocks of nearly equal size.

    Rows of the same time are in the same block. Those of the first block are never tested.
    """
    earlier = np.searchsorted(np.sort(time), time, side="left")
    assigned = (earlier * (folds + 1)) // len(time) + NEVER_TESTED
    if len(np.unique(assigned)) < folds + 1:
        raise ValueError(f"too many rows have the same time for {folds} folds")
    return assigned


def missing_class(y: np.ndarray, part: np.ndarray) -> str | None:
    """A class that no row of a part has; None if it has them all."""
    missing = sorted(set(np.unique(y)) - set(np.unique(y[part])))
    return str(missing[0]) if missing else None


def _has_classes(y: np.ndarray, rows: RowNumbers, train: RowNumbers, test: RowNumbers) -> bool:
    """Whether the training part has every class of `rows`, and the test part at least two: AUC needs them."""
    return set(np.unique(y[train])) == set(np.unique(y[rows])) and len(np.unique(y[test])) > 1


def _test_folds(count: int, splits: Iterator[tuple[RowNumbers, RowNumbers]]) -> np.ndarray:
    assigned = np.full(count, NEVER_TESTED)
    for number, (_, test) in enumerate(splits):
        assigned[test] = number
    return assigned
