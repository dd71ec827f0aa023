"""Seeded problems with more than two classes, in any size.

`benchmarks/multiclass.py` compares models on one instance of some of them. `benchmarks/development.py` chooses defaults
on other instances, with other seeds, sizes and numbers of features and classes.
"""

from __future__ import annotations

import numpy as np
from sklearn import datasets
from sklearn.tree import DecisionTreeClassifier

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


def ordered_planes(rows: int, features: int, classes: int, *, seed: int) -> Problem:
    """Levels of a linear function of correlated features, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) @ rng.normal(size=(features, features))
    score = X @ rng.normal(size=features)
    return X, levels(score / score.std() + 0.3 * rng.normal(size=rows), classes)


def tree(rows: int, features: int, classes: int, *, leaves: int, seed: int) -> Problem:
    """A tree of mixed features: boundaries parallel to the axes, one label in thirty at random."""
    rng = np.random.default_rng(seed)
    X = np.hstack([rng.integers(-1, 2, (rows, features // 2)), rng.normal(size=(rows, features - features // 2))])
    hidden = levels(np.sin(X @ rng.normal(size=(features, 3))).sum(axis=1), classes)
    y = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X[:800], hidden[:800]).predict(X)
    return X, np.where(rng.random(rows) < 1 / 30, rng.integers(0, classes, rows), y)


def tiles(rows: int, side: int, classes: int, *, seed: int) -> Problem:
    """A chessboard of several colours."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, side, (rows, 2))
    y = np.floor(X).astype(int) @ [1, 2] % classes
    return X, np.where(rng.random(rows) < 0.05, rng.integers(0, classes, rows), y)


def ones(rows: int, bits: int, idle: int, classes: int, *, seed: int) -> Problem:
    """The number of bits that are 1, the rarest numbers merged; with idle bits."""
    X = np.random.default_rng(seed).integers(0, 2, (rows, bits + idle))
    return X.astype(float), np.clip(X[:, :bits].sum(axis=1) - (bits - classes) // 2, 0, classes - 1)


def documents(rows: int, words: int, classes: int, *, seed: int) -> Problem:
    """The words in documents of several topics, two per class."""
    rng = np.random.default_rng(seed)
    rate = rng.gamma(0.3, 0.15, (2 * classes, words))
    topic = rng.integers(0, 2 * classes, rows)
    X = rng.random((rows, words)) < 0.4 * rate[topic] + 0.6 * rate.mean(axis=0)
    return X.astype(float), topic % classes


def low_rank(rows: int, features: int, classes: int, *, rank: int, seed: int) -> Problem:
    """Many correlated features with noise, and clusters in the few directions behind them."""
    rng = np.random.default_rng(seed)
    hidden, y = clusters(rows, rank, classes, per_class=3, spread=3.0, seed=seed)
    return hidden @ rng.normal(size=(rank, features)) + 3.0 * rng.normal(size=(rows, features)), y


def pictures(rows: int, side: int, classes: int, *, per_class: int, noise: float, seed: int) -> Problem:
    """Smooth pictures of side x side grey values in several styles per class, shifted by up to one pixel."""
    rng = np.random.default_rng(seed)
    place = np.arange(side)
    near = np.exp(-0.5 * np.square(place[:, None] - place) / 1.5)
    styles = near @ rng.normal(size=(classes * per_class, side, side)) @ near
    style, shift = rng.integers(0, len(styles), rows), rng.integers(-1, 2, (rows, 2))
    X = np.array([np.roll(styles[i], tuple(s), axis=(0, 1)) for i, s in zip(style, shift)])
    return (X / styles.std() + noise * rng.normal(size=X.shape)).reshape(rows, -1), style % classes


def strokes(rows: int, points: int, classes: int, *, seed: int) -> Problem:
    """Points along a smooth curve per class, two numbers each, rotated, stretched and drawn with a shaky hand."""
    rng = np.random.default_rng(seed)
    curves = np.cumsum(rng.normal(size=(classes, points, 2)), axis=1)
    curves = (curves - curves.mean(axis=1, keepdims=True)) / curves.std(axis=(1, 2), keepdims=True)
    y = rng.integers(0, classes, rows)
    change = np.eye(2) + 0.3 * rng.normal(size=(rows, 2, 2))
    X = curves[y] @ change + 0.25 * rng.normal(size=(rows, points, 2))
    return X.reshape(rows, -1), y


def codes(rows: int, features: int, classes: int, *, seed: int) -> Problem:
    """Nominal codes from 1 to 4: the class counts the features with their special code. One label in ten is random."""
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 5, (rows, features))
    count = (X[:, 1:] == rng.integers(1, 5, features - 1)).sum(axis=1)
    y = np.minimum(count, classes - 1)
    return X.astype(float), np.where(rng.random(rows) < 0.1, rng.integers(0, classes, rows), y)
