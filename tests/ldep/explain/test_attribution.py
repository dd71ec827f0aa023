"""Integrated gradients: complete, equal to a fine sum, and continuous."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fitted_models import (
    model_of,
    random_average,
    random_class_votes,
    random_model,
    random_of_three_classes,
)

seeds = st.integers(0, 2**20)
makers = st.sampled_from([random_model, random_average])


@settings(max_examples=50)
@given(seeds, makers)
def test_the_contributions_sum_to_the_difference(seed, make):
    model = make(seed % 1000)
    X = np.random.default_rng(seed).normal(size=(5, model.n_features_in_))
    attribution = model.attribute(X, np.zeros(model.n_features_in_))
    difference = model.decision_function(X) - model.decision_function(np.zeros_like(X))
    np.testing.assert_allclose(attribution.contributions.sum(axis=1), difference, atol=1e-12)
    np.testing.assert_allclose(attribution.decision - attribution.bias, difference, atol=1e-12)


@pytest.mark.parametrize("make", [random_model, random_average])
def test_they_equal_the_sum_of_many_steps(make):
    model = make(7)
    rng = np.random.default_rng(1)
    x, baseline = rng.normal(size=(2, model.n_features_in_))
    exact = model.attribute(x[None], baseline).contributions[0]
    t = (np.arange(10_000) + 0.5) / 10_000
    points, step = baseline + t[:, None] * (x - baseline), 1e-7
    summed = [
        (model.decision_function(points + step * e) - model.decision_function(points - step * e)).mean() / (2 * step)
        for e in np.eye(len(x))
    ]
    np.testing.assert_allclose(exact, np.array(summed) * (x - baseline), atol=1e-3)


def test_three_classes_have_contributions_to_each_score():
    model = random_of_three_classes(2)
    X = np.random.default_rng(0).normal(size=(10, 3))
    attribution = model.attribute(X, np.ones(3))
    assert attribution.contributions.shape == (10, 3, 3)
    difference = model.decision_function(X) - model.decision_function(np.ones((10, 3)))
    np.testing.assert_allclose(attribution.contributions.sum(axis=2), difference, atol=1e-12)


@settings(max_examples=40)
@given(seeds, st.integers(3, 6))
def test_shared_votes_of_several_classes_are_complete(seed, n_classes):
    model = random_class_votes(seed % 1000, n_classes)
    X = np.random.default_rng(seed).normal(size=(20, 2))
    attribution = model.attribute(X, np.ones(2))
    difference = model.decision_function(X) - model.decision_function(np.ones((20, 2)))
    np.testing.assert_allclose(attribution.contributions.sum(axis=2), difference, atol=1e-12)
    np.testing.assert_allclose(attribution.decision, model.decision_function(X), atol=1e-12)


def test_shared_votes_equal_the_sum_of_many_steps():
    model = random_class_votes(5, n_classes=4)
    x, baseline = np.random.default_rng(3).normal(size=(2, 2))
    exact = model.attribute(x[None], baseline).contributions[0]
    t = (np.arange(10_000) + 0.5) / 10_000
    points, step = baseline + t[:, None] * (x - baseline), 1e-7
    for f, e in enumerate(np.eye(2)):
        ends = [model.decision_function(points + sign * step * e) for sign in (1, -1)]
        summed = (ends[0] - ends[1]).mean(axis=0) / (2 * step) * (x - baseline)[f]
        np.testing.assert_allclose(exact[:, f], summed, atol=1e-3)


def test_equal_pieces_are_counted_once():
    """Pieces that agree up to rounding must not make parts of the segment count twice."""
    table = np.random.default_rng(3).normal(size=(7, 4))
    table[1] = table[0]
    table[2] = np.nextafter(table[0], np.inf)
    model = model_of(table, (4, 3))
    X = np.random.default_rng(0).normal(size=(50, 3))
    attribution = model.attribute(X, -X)
    difference = model.decision_function(X) - model.decision_function(-X)
    np.testing.assert_allclose(attribution.contributions.sum(axis=1), difference, atol=1e-12)


def test_they_do_not_jump_between_regions():
    """Where `explain` changes its piece, the attribution changes by no more than the row does."""
    model = random_model(11)
    line = np.linspace([-2.0, -2, -2], [2.0, 2, 2], 4001)
    jumps = np.abs(np.diff(model.explain(line).contributions, axis=0)).max()
    steps = np.abs(np.diff(model.attribute(line, np.zeros(3)).contributions, axis=0)).max()
    assert steps < 0.02 < jumps


def test_a_baseline_of_the_wrong_size_is_refused():
    model = random_model(0)
    with pytest.raises(ValueError, match=r"^baseline has the shape \(2,\); it must be one row of 3 features"):
        model.attribute(np.zeros((4, 3)), np.zeros(2))
