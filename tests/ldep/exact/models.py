"""Small models with random pieces for the tests of exact answers."""

from __future__ import annotations

import numpy as np

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.search.class_probability import class_factors


def model_of(table: np.ndarray, sizes: tuple[int, ...], center: float = 0.0) -> LDEPClassifier:
    """A model with the pieces [w, c]: those of "yes", then those of "no"; or those of the classes 0, 1, ..."""
    model = LDEPClassifier(r1=sizes[0], r2=sizes[1])
    model._set_pieces(np.asarray(table, dtype=float), sizes)
    model.n_features_in_ = table.shape[1] - 1
    model.center_ = np.full(model.n_features_in_, center)
    model.classes_ = np.array(["no", "yes"]) if len(sizes) == 2 else np.arange(len(sizes))
    return model


def random_model(seed: int, n_features: int = 3, sizes: tuple[int, ...] = (4, 3), center: float = 0.0):
    """A single model."""
    rng = np.random.default_rng(seed)
    return model_of(rng.normal(size=(sum(sizes), n_features + 1)), sizes, center)


def random_average(seed: int, n_members: int = 3, n_features: int = 2, clipped: bool = True) -> LDEPClassifierCV:
    """An average of the votes of single models."""
    average = LDEPClassifierCV()
    average.estimators_ = [random_model(10 * seed + k, n_features) for k in range(n_members)]
    average.weights_ = np.full(n_members, 1.0 / n_members)
    average.threshold_, average._clipped = 0.05, clipped
    average.classes_, average.n_features_in_ = np.array(["no", "yes"]), n_features
    return average


def random_mean(seed: int) -> LDEPClassifierCV:
    """An average of decision values that are not clipped."""
    return random_average(seed, clipped=False)


def random_of_three_classes(seed: int) -> LDEPClassifier:
    """A single model of three classes."""
    return random_model(seed, sizes=(3, 3, 3))


def random_class_votes(seed: int, n_classes: int = 3, n_members: int = 4, n_features: int = 2) -> LDEPClassifierCV:
    """An average of the votes of single models of several classes."""
    rng = np.random.default_rng(seed)
    votes = LDEPClassifierCV()
    sizes = (2,) * n_classes
    votes.estimators_ = [random_model(100 * seed + k, n_features, sizes) for k in range(n_members)]
    votes.weights_ = rng.dirichlet(np.ones(n_members))
    votes.link_ = 1.5, rng.normal(scale=0.3, size=n_classes)
    votes.class_factors_ = class_factors(*votes.link_)
    votes._clipped, votes.classes_, votes.n_features_in_ = True, np.arange(n_classes), n_features
    return votes
