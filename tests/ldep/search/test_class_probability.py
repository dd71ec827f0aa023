"""Probabilities of more than two classes."""

import numpy as np
import pytest

from ldep.probability import fit_link, probabilities, vote_log_odds
from ldep.search.class_probability import class_factors, fit_vote_link, open_votes, vote_probabilities

RNG = np.random.default_rng(0)


def draw(n_classes, slope, intercepts, m=4000):
    """Votes, and classes with the probabilities of a link."""
    votes = RNG.dirichlet(np.full(n_classes, 0.5), m)
    table = vote_probabilities(open_votes(votes), slope, np.array(intercepts))
    y = (table.cumsum(axis=1) < RNG.uniform(size=(m, 1))).sum(axis=1).astype(float)
    return votes, y


def test_the_link_of_the_data_is_recovered():
    """To about three standard errors."""
    votes, y = draw(3, 0.8, [0.5, 0.0, -0.5])
    slope, intercepts = fit_vote_link(open_votes(votes), y, np.ones(len(y)))
    assert slope == pytest.approx(0.8, abs=0.1)
    np.testing.assert_allclose(intercepts, [0.5, 0.0, -0.5], atol=0.15)


def test_for_two_classes_it_is_the_link_of_two_classes():
    """Tolerance: where the two optimisers stop."""
    votes, y = draw(2, 0.7, [0.3, -0.3], m=500)
    weight, sides = RNG.uniform(0.5, 2.0, 500), 2 * votes[:, 1] - 1
    link = fit_vote_link(open_votes(votes), y, weight)
    expected = probabilities(vote_log_odds(sides), *fit_link(vote_log_odds(sides), 2 * y - 1, weight))
    np.testing.assert_allclose(vote_probabilities(open_votes(votes), *link), expected, atol=1e-3)


def test_a_weight_is_a_repetition():
    votes, y = draw(3, 1.0, [0.0, 0.0, 0.0], m=200)
    weight = RNG.integers(1, 4, 200)
    opened, again = open_votes(votes), np.repeat(np.arange(200), weight)
    weighted = fit_vote_link(opened, y, weight.astype(float))
    repeated = fit_vote_link(opened[again], y[again], np.ones(len(again)))
    np.testing.assert_allclose(weighted[1], repeated[1], atol=1e-6)
    assert weighted[0] == pytest.approx(repeated[0], abs=1e-6)


def test_votes_that_are_always_right_give_finite_probabilities():
    y = np.arange(30.0) % 3
    opened = open_votes(np.eye(3)[y.astype(int)])
    table = vote_probabilities(opened, *fit_vote_link(opened, y, np.ones(30)))
    assert 0.8 < table.max() < 1.0


@pytest.mark.parametrize(("slope", "intercepts"), [(0.9, [0.4, -0.1, -0.3]), (1e-3, [1.0, 0.99, -1.99])])
def test_the_largest_decision_value_is_the_largest_probability(slope, intercepts):
    """Also where the votes count for next to nothing and the factors are far apart."""
    opened = open_votes(RNG.dirichlet(np.full(3, 0.5), 500))
    table = vote_probabilities(opened, slope, np.array(intercepts))
    np.testing.assert_array_equal((class_factors(slope, np.array(intercepts)) * opened).argmax(1), table.argmax(1))
