"""Seeded two-class problems of many kinds: smooth, noisy, logical, collinear, wide, with outliers; and large ones."""

from __future__ import annotations

import numpy as np
from sklearn import datasets
from sklearn.tree import DecisionTreeClassifier

Problem = tuple[np.ndarray, np.ndarray]


def moons() -> Problem:
    return datasets.make_moons(1000, noise=0.3, random_state=0)


def circles_with_noise_features() -> Problem:
    """Two rings in two of six features."""
    rng = np.random.default_rng(1)
    X, y = datasets.make_circles(800, noise=0.15, factor=0.6, random_state=1)
    return np.hstack([X, rng.normal(size=(800, 4))]), y


def gaussian_shells() -> Problem:
    return datasets.make_gaussian_quantiles(n_samples=1500, n_features=8, n_classes=2, random_state=2)


def sum_of_squares() -> Problem:
    X, y = datasets.make_hastie_10_2(2000, random_state=3)
    return X, (y > 0).astype(int)


def clusters_with_label_noise() -> Problem:
    return datasets.make_classification(
        900, 20, n_informative=8, n_redundant=6, n_clusters_per_class=3, flip_y=0.1, random_state=4
    )


def few_rows_many_features() -> Problem:
    return datasets.make_classification(
        250, 60, n_informative=10, n_redundant=20, n_clusters_per_class=2, class_sep=1.5, random_state=5
    )


def unbalanced_clusters() -> Problem:
    return datasets.make_classification(
        1200, 12, n_informative=6, n_clusters_per_class=3, weights=[0.8], flip_y=0.05, random_state=6
    )


def linear_with_noise() -> Problem:
    """A logistic model of correlated features: nothing but a plane can be learned."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(450, 15)) @ rng.normal(size=(15, 15))
    score = X @ rng.normal(size=15)
    return X, (score / score.std() + rng.logistic(size=450) * 0.5 > 0).astype(int)


def friedman() -> Problem:
    X, target = datasets.make_friedman1(600, 10, noise=2.0, random_state=8)
    return X, (target > np.median(target)).astype(int)


def exactly_two() -> Problem:
    """Exactly two of six nominal features have their first value."""
    rng = np.random.default_rng(9)
    X = np.column_stack([rng.integers(0, levels, 600) for levels in (3, 3, 2, 3, 4, 2)])
    return X.astype(float), ((X == 0).sum(axis=1) == 2).astype(int)


def conjunctions() -> Problem:
    """Any of five conjunctions of three of twelve ternary features."""
    rng = np.random.default_rng(10)
    X = rng.integers(0, 3, (1000, 12))
    y = np.zeros(1000, dtype=bool)
    for _ in range(5):
        features, values = rng.choice(12, 2, replace=False), rng.integers(0, 3, 2)
        y |= (X[:, features] == values).all(axis=1)
    return X.astype(float), y.astype(int)


def multiplexer() -> Problem:
    """Three address bits choose one of eight data bits."""
    bits = np.random.default_rng(11).integers(0, 2, (1200, 11))
    address = bits[:, :3] @ [4, 2, 1]
    return bits.astype(float), bits[np.arange(1200), 3 + address]


def threshold_of_bits() -> Problem:
    """At least four of eight bits, with five idle ones."""
    bits = np.random.default_rng(12).integers(0, 2, (900, 13))
    return bits.astype(float), (bits[:, :8].sum(axis=1) >= 4).astype(int)


def checkerboard() -> Problem:
    return _checkerboard(13, 3000, squares=4, noise=0.05)


def _checkerboard(seed: int, rows: int, squares: int, noise: float) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, squares, (rows, 2))
    y = np.floor(X).sum(axis=1).astype(int) % 2
    return X, np.where(rng.random(rows) < noise, 1 - y, y)


def spirals() -> Problem:
    rng = np.random.default_rng(14)
    y = rng.integers(0, 2, 1500)
    angle = 3 * np.pi * np.sqrt(rng.random(1500))
    turned = angle + np.pi * y
    X = np.column_stack([angle * np.cos(turned), angle * np.sin(turned)])
    return X + rng.normal(0, 0.5, X.shape), y


def bump_or_dip() -> Problem:
    """A smooth curve of any size with a small bump or dip anywhere: almost collinear columns."""
    rng = np.random.default_rng(15)
    m, n = 900, 60
    size, y = np.exp(rng.uniform(0, 8, m)), rng.integers(0, 2, m)
    position, width = rng.uniform(5, n - 5, m), rng.uniform(2, 6, m)
    shape = np.exp(-np.square((np.arange(n) - position[:, None]) / width[:, None]))
    curve = 1 + 0.3 * (2 * y[:, None] - 1) * shape + rng.normal(0, 0.005, (m, n))
    return size[:, None] * curve, y


def channels_over_time() -> Problem:
    """Drifting correlated channels with rare gross outliers; the state changes slowly, rows are split at random."""
    rng = np.random.default_rng(16)
    m, n = 6000, 12
    state = (np.sin(np.cumsum(rng.normal(0, 0.05, m))) > 0).astype(int)
    drift = np.cumsum(rng.normal(0, 0.03, (m, n)), axis=0)
    X = (drift + 0.3 * np.outer(state, rng.normal(size=n)) + rng.normal(0, 0.2, (m, n))) @ rng.normal(size=(n, n))
    X[rng.choice(m, 5, replace=False)] *= 300
    return X, state


def wide_and_sparse() -> Problem:
    """Words in documents of several topics."""
    rng = np.random.default_rng(17)
    m, n, topics = 1500, 700, 8
    rate = rng.gamma(0.3, 0.15, (topics, n))
    topic = rng.integers(0, topics, m)
    X = rng.random((m, n)) < 0.4 * rate[topic] + 0.6 * rate.mean(axis=0)
    return X.astype(float), np.where(rng.random(m) < 0.05, rng.integers(0, 2, m), topic < 2).astype(int)


def tree_teacher() -> Problem:
    """A deep tree of mixed features: boundaries parallel to the axes."""
    rng = np.random.default_rng(18)
    X = np.hstack([rng.integers(-1, 2, (4000, 14)), rng.normal(size=(4000, 4))]).astype(float)
    hidden = (X[:, :5] @ rng.normal(size=5) + np.sin(2 * X[:, 14]) + X[:, 15] * X[:, 5]) > 0
    tree = DecisionTreeClassifier(max_leaf_nodes=60, random_state=0).fit(X[:1500], hidden[:1500])
    y = tree.predict(X).astype(int)
    return X, np.where(rng.random(4000) < 0.03, 1 - y, y)


def mostly_noise() -> Problem:
    """Two of sixteen features matter a little, and one class is rare: the majority is hard to beat."""
    rng = np.random.default_rng(19)
    X = np.hstack([rng.integers(0, 2, (470, 12)), rng.normal(size=(470, 4))]).astype(float)
    return X, (0.8 * X[:, 0] + 0.4 * X[:, 12] + rng.logistic(size=470) > 2.3).astype(int)


PROBLEMS = (
    moons,
    circles_with_noise_features,
    gaussian_shells,
    sum_of_squares,
    clusters_with_label_noise,
    few_rows_many_features,
    unbalanced_clusters,
    linear_with_noise,
    friedman,
    exactly_two,
    conjunctions,
    multiplexer,
    threshold_of_bits,
    checkerboard,
    spirals,
    bump_or_dip,
    channels_over_time,
    wide_and_sparse,
    tree_teacher,
    mostly_noise,
)


def large_checkerboard() -> Problem:
    return _checkerboard(201, 12_000, squares=6, noise=0.1)


def large_waves() -> Problem:
    """A wavy boundary in five features."""
    rng = np.random.default_rng(202)
    X = rng.normal(size=(6000, 5))
    score = np.sin(2 * X[:, 0]) + np.cos(1.5 * X[:, 1] * X[:, 2]) + 0.5 * X[:, 3] ** 2 - 0.4 * X[:, 4]
    return X, (score + 0.4 * rng.normal(size=6000) > np.median(score)).astype(int)


def large_sum_of_squares() -> Problem:
    X, y = datasets.make_hastie_10_2(12_000, random_state=203)
    return X, (y > 0).astype(int)


def large_network() -> Problem:
    """The sign of a random network, with noise."""
    rng = np.random.default_rng(204)
    X = rng.normal(size=(15_000, 10))
    units = np.tanh(X @ rng.normal(size=(10, 30)) * 0.7)
    return X, (units @ rng.normal(size=30) + 0.8 * rng.normal(size=15_000) > 0).astype(int)


def large_clusters() -> Problem:
    return datasets.make_classification(
        10_000, 20, n_informative=8, n_redundant=6, n_clusters_per_class=4, flip_y=0.1, random_state=205
    )


def large_tree() -> Problem:
    """A deep tree of mixed features."""
    rng = np.random.default_rng(206)
    X = np.hstack([rng.integers(-1, 2, (8000, 10)), rng.normal(size=(8000, 6))]).astype(float)
    hidden = np.sin(X @ rng.normal(size=(16, 2))).sum(axis=1) > 0
    y = DecisionTreeClassifier(max_leaf_nodes=80, random_state=0).fit(X[:3000], hidden[:3000]).predict(X).astype(int)
    return X, np.where(rng.random(8000) < 0.05, 1 - y, y)


def large_shells() -> Problem:
    return datasets.make_gaussian_quantiles(n_samples=8000, n_features=10, n_classes=2, random_state=207)


def large_moons() -> Problem:
    return datasets.make_moons(15_000, noise=0.3, random_state=208)


def large_friedman() -> Problem:
    X, target = datasets.make_friedman1(6000, 10, noise=2.0, random_state=209)
    return X, (target > np.median(target)).astype(int)


def large_linear() -> Problem:
    """A logistic model of correlated features."""
    rng = np.random.default_rng(210)
    X = rng.normal(size=(6000, 15)) @ rng.normal(size=(15, 15))
    score = X @ rng.normal(size=15)
    return X, (score / score.std() + rng.logistic(size=6000) * 0.5 > 0).astype(int)


LARGE = (
    large_checkerboard,
    large_waves,
    large_sum_of_squares,
    large_network,
    large_clusters,
    large_tree,
    large_shells,
    large_moons,
    large_friedman,
    large_linear,
)
