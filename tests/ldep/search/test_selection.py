"""Greedy selection improves on its candidates and depends on nothing but their values."""

import numpy as np
import pytest

from ldep.search import greedy_weights, squared_error


def problem(seed=0, candidates=6, samples=200):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], samples)
    votes = np.clip(0.5 * y + rng.normal(size=(candidates, samples)), -1.0, 1.0)
    return votes, y, rng.uniform(0.5, 2.0, samples)


def test_the_average_is_no_worse_than_the_best_candidate():
    votes, y, weight = problem()
    losses = squared_error(y, weight)
    weights = greedy_weights(votes, losses, 40)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights >= 0).all()
    assert losses((weights @ votes)[None])[0] < losses(votes).min()


def test_one_round_selects_the_best_candidate():
    votes, y, weight = problem()
    losses = squared_error(y, weight)
    assert greedy_weights(votes, losses, 1).argmax() == losses(votes).argmin()


def test_many_rounds_approach_the_best_convex_combination():
    """Of two independent candidates with equal noise the best average is close to the mean."""
    rng = np.random.default_rng(1)
    y = rng.choice([-1.0, 1.0], 20_000)
    votes = y + rng.normal(size=(2, 20_000))
    np.testing.assert_allclose(greedy_weights(votes, squared_error(y, np.ones(20_000)), 100), 0.5, atol=0.02)


def test_a_candidate_that_is_always_right_is_selected_alone():
    votes, y, weight = problem()
    votes[3] = y
    np.testing.assert_array_equal(greedy_weights(votes, squared_error(y, weight), 40), np.eye(6)[3])


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_candidates_than_allowed_get_a_weight(most):
    votes, y, weight = problem()
    losses = squared_error(y, weight)
    assert np.count_nonzero(greedy_weights(votes, losses, 40)) > most
    weights = greedy_weights(votes, losses, 40, most)
    assert np.count_nonzero(weights) == most
    assert weights.sum() == pytest.approx(1.0)


def test_later_losses_decide_between_equal_ones():
    votes = np.array([[1.0, -1.0], [0.5, -0.5], [0.8, -0.8]])

    def losses(averages):
        return np.column_stack([np.zeros(len(averages)), np.abs(averages[:, 0] - 0.8)])

    assert greedy_weights(votes, losses, 1).tolist() == [0.0, 0.0, 1.0]


def test_values_may_have_a_class_axis():
    """Shares of three classes, with one-hot targets."""
    rng = np.random.default_rng(2)
    targets = np.eye(3)[rng.integers(0, 3, 50)]
    shares = rng.dirichlet(np.ones(3), (4, 50))
    shares[2] = targets

    def losses(averages):
        return np.square(averages - targets).mean(axis=(1, 2))

    np.testing.assert_array_equal(greedy_weights(shares, losses, 10), np.eye(4)[2])
