"""The paper's 30 data sets, prepared as in the pipeline, and seeded synthetic problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from ldep_pipeline.config.params import Data, Split
from ldep_pipeline.data import catalogue, sources
from ldep_pipeline.stages import impute, split

NAMES = tuple(catalogue.load())


class Fold(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


@cache
def load(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the features, the classes (0 and 1) and the fold of each row."""
    frame, _ = sources.fetch(catalogue.entry(name), Data())
    numbers, _ = impute.impute(frame)
    X, target = numbers.iloc[:, :-1].to_numpy(), frame.iloc[:, -1]
    return X, np.asarray(target.cat.codes), split.assign(target, Split()).test_fold[:, 0]


def fold(name: str, number: int) -> Fold:
    """Return the training and test part of one of the paper's folds, scaled as in the paper."""
    return standardised(*load(name), number)


class Problems:
    """Problems by name, each a function that makes features and classes, with stratified folds."""

    def __init__(self, makers: Mapping[str, Callable[[], tuple[np.ndarray, np.ndarray]]], folds: int) -> None:
        self._makers, self._folds = makers, folds
        self._loaded: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def load(self, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the features, the classes and the fold of each row."""
        if name not in self._loaded:
            X, y = self._makers[name]()
            self._loaded[name] = X, y, stratified_folds(X, y, self._folds)
        return self._loaded[name]

    def fold(self, name: str, number: int) -> Fold:
        """Return the training and test part of one fold, standardised by the training part."""
        return standardised(*self.load(name), number)


def standardised(X: np.ndarray, y: np.ndarray, folds: np.ndarray, number: int) -> Fold:
    """Return the training and test part of one fold, standardised by the training part."""
    train, test = folds != number, folds == number
    scaler = StandardScaler().fit(X[train])
    return Fold(scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])


def stratified_folds(X: np.ndarray, y: np.ndarray, folds: int) -> np.ndarray:
    """Return the fold of each row."""
    numbers = np.empty(len(y), dtype=int)
    for number, (_, test) in enumerate(StratifiedKFold(folds, shuffle=True, random_state=1).split(X, y)):
        numbers[test] = number
    return numbers


def synthetic(seed: int, m: int, n: int, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Return samples whose class a random ℓ-DEP with r1 = r2 = 4 decides, with noise on its decision value."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    tau = (X @ rng.normal(size=(n, 4))).max(axis=1) - (X @ rng.normal(size=(n, 4))).max(axis=1)
    return X, (tau + noise * rng.normal(size=m) >= 0).astype(int)
