"""Probabilities of more than two classes."""

import numpy as np
import pytest

from ldep.class_probability import class_factors, class_probabilities, fit_class_link, log_gaps, open_votes
from ldep.probability import fit_link, probabilities, vote_log_odds

RNG = np.random.default_rng(0)


def draw(n_classes, slope, intercepts, m=4000):
    """Votes, and classes with the probabilities of a link."""
    votes = RNG.dirichlet(np.full(n_classes, 0.5), m)
    table = class_probabilities(np.log(open_votes(votes)), slope, np.array(intercepts))
    y = (table.cumsum(axis=1) < RNG.uniform(size=(m, 1))).sum(axis=1).astype(float)
    return votes, y


def test_the_link_of_the_data_is_recovered():
    """To about three standard errors."""
    votes, y = draw(3, 0.8, [0.5, 0.0, -0.5])
    slope, intercepts = fit_class_link(np.log(open_votes(votes)), y, np.ones(len(y)), with_intercepts=True)
    assert slope == pytest.approx(0.8, abs=0.1)
    np.testing.assert_allclose(intercepts, [0.5, 0.0, -0.5], atol=0.15)


def test_for_two_classes_it_is_the_link_of_two_classes():
    """Tolerance: where the two optimisers stop."""
    votes, y = draw(2, 0.7, [0.3, -0.3], m=500)
    weight, sides = RNG.uniform(0.5, 2.0, 500), 2 * votes[:, 1] - 1
    link = fit_class_link(np.log(open_votes(votes)), y, weight, with_intercepts=True)
    expected = probabilities(vote_log_odds(sides), *fit_link(vote_log_odds(sides), 2 * y - 1, weight))
    np.testing.assert_allclose(class_probabilities(np.log(open_votes(votes)), *link), expected, atol=1e-3)


def test_a_weight_is_a_repetition():
    votes, y = draw(3, 1.0, [0.0, 0.0, 0.0], m=200)
    weight = RNG.integers(1, 4, 200)
    values, again = np.log(open_votes(votes)), np.repeat(np.arange(200), weight)
    weighted = fit_class_link(values, y, weight.astype(float), with_intercepts=True)
    repeated = fit_class_link(values[again], y[again], np.ones(len(again)), with_intercepts=True)
    np.testing.assert_allclose(weighted[1], repeated[1], atol=1e-6)
    assert weighted[0] == pytest.approx(repeated[0], abs=1e-6)


def test_votes_that_are_always_right_give_finite_probabilities():
    y = np.arange(30.0) % 3
    values = np.log(open_votes(np.eye(3)[y.astype(int)]))
    table = class_probabilities(values, *fit_class_link(values, y, np.ones(30), with_intercepts=True))
    assert 0.8 < table.max() < 1.0


@pytest.mark.parametrize(("slope", "intercepts"), [(0.9, [0.4, -0.1, -0.3]), (1e-3, [1.0, 0.99, -1.99])])
def test_the_largest_decision_value_is_the_largest_probability(slope, intercepts):
    """Also where the votes count for next to nothing and the factors are far apart."""
    opened = open_votes(RNG.dirichlet(np.full(3, 0.5), 500))
    table = class_probabilities(np.log(opened), slope, np.array(intercepts))
    np.testing.assert_array_equal((class_factors(slope, np.array(intercepts)) * opened).argmax(1), table.argmax(1))


def test_gaps_are_zero_for_the_largest_score_and_grow_like_a_logarithm():
    gaps = log_gaps(np.array([[2.0, 2.0 - 1e-4, -1e6]]))
    assert gaps[0, 0] == 0.0
    assert gaps[0, 1] == pytest.approx(-1e-4)
    assert gaps[0, 2] == pytest.approx(-np.log(2e6), abs=1e-3)
