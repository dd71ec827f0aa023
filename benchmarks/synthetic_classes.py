"""Seeded problems with more than two classes, in any size, of which `benchmarks/multiclass.py` uses some."""

from __future__ import annotations

import numpy as np
from sklearn import datasets

Problem = tuple[np.ndarray, np.ndarray]


def levels(score: np.ndarray, classes: int) -> np.ndarray:
    """Classes of equal size, in the order of a score."""
    return np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def clusters(rows: int, features: int, classes: int, *, per_class: int, spread: float, seed: int) -> Problem:
    """Several round clusters per class."""
    X, cluster = datasets.make_blobs(
        rows, centers=per_class * classes, n_features=features, cluster_std=spread, random_state=seed
    )
    return X, cluster % classes


def shells(rows: int, features: int, classes: int, *, seed: int) -> Problem:
    """Concentric shells."""
    return datasets.make_gaussian_quantiles(n_samples=rows, n_features=features, n_classes=classes, random_state=seed)


def noisy_clusters(
    rows: int, features: int, classes: int, *, informative: int, separation: float, seed: int
) -> Problem:
    """Two clusters per class among idle features, one label in twenty at random."""
    return datasets.make_classification(
        rows,
        features,
        n_informative=informative,
        n_classes=classes,
        n_clusters_per_class=2,
        class_sep=separation,
        flip_y=0.05,
        random_state=seed,
    )


def friedman(rows: int, features: int, classes: int, *, noise: float, seed: int) -> Problem:
    """Levels of Friedman's first function."""
    X, target = datasets.make_friedman1(rows, features, noise=noise, random_state=seed)
    return X, levels(target, classes)


def teacher(rows: int, features: int, classes: int, *, hidden: int, seed: int) -> Problem:
    """The largest output of a random network, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    units = np.tanh(X @ rng.normal(size=(features, hidden)))
    scores = units @ rng.normal(size=(hidden, classes))
    return X, (scores + 0.5 * rng.normal(size=(rows, classes))).argmax(axis=1)


def spirals(rows: int, arms: int, *, turn: float, seed: int) -> Problem:
    """Arms of a spiral in the plane."""
    rng = np.random.default_rng(seed)
    arm, radius = np.arange(rows) % arms, rng.uniform(0.1, 1.0, rows)
    angle = turn * radius + arm * 2 * np.pi / arms
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + rng.normal(0.0, 0.06, X.shape), arm


def waveform(rows: int, *, idle: int = 0, seed: int) -> Problem:
    """Breiman's waves: each class mixes two of three triangles, and adds noise and idle features."""
    rng = np.random.default_rng(seed)
    triangles = np.maximum(6.0 - np.abs(np.arange(21) - np.array([[6], [14], [10]])), 0.0)
    y, share = np.arange(rows) % 3, rng.uniform(size=(rows, 1))
    X = share * triangles[y] + (1 - share) * triangles[(y + 1) % 3] + rng.normal(size=(rows, 21))
    return np.hstack([X, rng.normal(size=(rows, idle))]), y
