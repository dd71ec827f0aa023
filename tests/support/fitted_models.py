"""Small models with random pieces, as if they were fitted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.model import FittedModel, Link, Maxima
from ldep.training import by_class


def fitted(estimator, model: FittedModel, classes: np.ndarray):
    """An estimator as if its fit had given this model."""
    estimator.model_, estimator.classes_, estimator.n_features_in_ = model, classes, model.n_features
    return estimator


def model_of(table: np.ndarray, sizes: tuple[int, ...], center: float = 0.0) -> LDEPClassifier:
    """A model with the pieces [w, c]: those of "yes", then those of "no"; or those of the classes 0, 1, ..."""
    table, ends = np.asarray(table, dtype=float), np.cumsum(sizes)[:-1]
    slopes, offsets = (by_class(np.split(part, ends)) for part in (table[:, :-1], table[:, -1]))
    maxima = Maxima.of_classes(slopes, offsets, np.full(table.shape[1] - 1, center))
    classes = np.array(["no", "yes"]) if len(sizes) == 2 else np.arange(len(sizes))
    return fitted(LDEPClassifier(r1=sizes[0], r2=sizes[1], loss="hinge"), FittedModel.single(maxima), classes)


def random_model(seed: int, n_features: int = 3, sizes: tuple[int, ...] = (4, 3), center: float = 0.0):
    """A single model."""
    rng = np.random.default_rng(seed)
    return model_of(rng.normal(size=(sum(sizes), n_features + 1)), sizes, center)


def voting(members: list[LDEPClassifier], weights: np.ndarray, **options) -> LDEPClassifierCV:
    """The votes of single models."""
    maxima = [member.model_.members[0] for member in members]
    model = FittedModel.of(maxima, weights, votes=True, **options)
    average = fitted(LDEPClassifierCV(), model, members[0].classes_)
    average.estimators_ = members
    return average


def random_average(seed: int, n_members: int = 3, n_features: int = 2) -> LDEPClassifierCV:
    """An average of the votes of single models."""
    members = [random_model(10 * seed + k, n_features) for k in range(n_members)]
    return voting(members, np.full(n_members, 1.0 / n_members), threshold=0.05)


def random_of_three_classes(seed: int) -> LDEPClassifier:
    """A single model of three classes."""
    return random_model(seed, sizes=(3, 3, 3))


def difference_of(
    seed: int, n_classes: int = 3, n_features: int = 2, n_pieces: int = 3, scale: float = 1.0
) -> LDEPClassifier:
    """A single model whose scores are differences of two maxima each, times a scale."""
    n_maxima = 2 * n_classes
    model = random_model(seed, n_features, (n_pieces,) * n_maxima)
    eye = scale * np.eye(n_classes)
    maxima = replace(model.model_.members[0], signs=np.hstack([eye, -eye]))
    return fitted(
        LDEPClassifier(r1=n_pieces, r2=n_pieces, loss="hinge"), FittedModel.single(maxima), np.arange(n_classes)
    )


def mixed_class_votes(seed: int, n_classes: int = 3, n_features: int = 2) -> LDEPClassifierCV:
    """The votes of members with one maximum per class and of members with differences, one of them with scores of a
    quarter."""
    members = [
        random_model(100 * seed, n_features, (2,) * n_classes),
        difference_of(100 * seed + 1, n_classes, n_features, 2),
        difference_of(100 * seed + 2, n_classes, n_features, 2, scale=0.25),
    ]
    rng = np.random.default_rng(seed)
    weights, intercepts = rng.dirichlet(np.ones(3)), rng.normal(scale=0.2, size=n_classes)
    factors = np.exp(intercepts - intercepts.max()) if n_classes > 2 else None
    link = Link("log_shares" if n_classes > 2 else "log_odds", 1.0, intercepts)
    return voting(members, weights, factors=factors, link=link)


def random_class_votes(seed: int, n_classes: int = 3, n_members: int = 4, n_features: int = 2) -> LDEPClassifierCV:
    """An average of the votes of single models of several classes."""
    rng = np.random.default_rng(seed)
    sizes = (2,) * n_classes
    members = [random_model(100 * seed + k, n_features, sizes) for k in range(n_members)]
    weights, intercepts = rng.dirichlet(np.ones(n_members)), rng.normal(scale=0.3, size=n_classes)
    factors = np.exp(intercepts / 1.5 - intercepts.max() / 1.5)
    return voting(members, weights, factors=factors, link=Link("log_shares", 1.5, intercepts))


def member(rng: np.random.Generator, n_features: int, sizes: tuple[int, int], center: np.ndarray) -> LDEPClassifier:
    """A model as if it were fitted."""
    model = model_of(rng.normal(size=(sum(sizes), n_features + 1)), sizes)
    maxima = replace(model.model_.members[0], center=center)
    model.model_, model.n_iter_ = FittedModel.single(maxima), 1
    return model


def classifier(rng: np.random.Generator, n_features: int, kind: str, offset: float = 0.0) -> Any:
    """A model of the kind "single", "votes" or "refit", for features around an offset."""
    sizes = [(3, 5), (5, 3), (1, 1), (5, 5), (4, 1)]
    if kind == "single":
        return member(rng, n_features, sizes[rng.integers(5)], np.full(n_features, offset))
    count = 1 if kind == "refit" else 5
    members = [
        member(rng, n_features, sizes[k], (offset + rng.normal(size=n_features)) if offset else np.zeros(n_features))
        for k in range(count)
    ]
    model = voting(members, rng.dirichlet(np.ones(count)))
    link = Link("log_odds" if kind == "votes" else "asinh", 1.3, np.array([0.0, -0.2]))
    model.model_ = replace(model.model_, votes=kind == "votes", link=link).with_threshold(0.1 * rng.normal())
    return model
