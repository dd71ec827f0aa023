"""Votes: the sparsemax is the projection onto the simplex, and with two classes the clipped decision value."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ldep.model import cast_votes, sparsemax
from ldep.search import right_votes

SCORES = np.random.default_rng(0).normal(0.0, 1.5, (50, 4))


def test_votes_are_shares():
    votes = sparsemax(SCORES)
    assert (votes >= 0).all()
    np.testing.assert_allclose(votes.sum(axis=1), 1.0, atol=1e-15)
    np.testing.assert_array_equal(votes.argmax(axis=1), SCORES.argmax(axis=1))


def test_the_sparsemax_is_the_nearest_point_of_the_simplex():
    """Tolerance: that of the quadratic program."""
    sum_is_one = {"type": "eq", "fun": lambda point: point.sum() - 1.0}
    for scores, votes in zip(SCORES[:5], sparsemax(SCORES)[:5], strict=True):
        nearest = minimize(
            lambda point, scores=scores: np.square(point - scores).sum(),
            np.full(4, 0.25),
            bounds=[(0, None)] * 4,
            constraints=[sum_is_one],
            options={"ftol": 1e-12},
        )
        np.testing.assert_allclose(votes, nearest.x, atol=1e-5)


def test_a_margin_of_one_is_the_whole_vote():
    np.testing.assert_array_equal(sparsemax(np.array([[1.0, 0.0, 0.0], [3.0, 2.5, 0.0]])), [[1, 0, 0], [0.75, 0.25, 0]])


def test_with_two_classes_it_is_the_clipped_decision_value():
    tau = np.linspace(-3, 3, 61)
    shares = sparsemax(np.column_stack([-tau / 2, tau / 2]))
    np.testing.assert_allclose(2 * shares[:, 1] - 1, cast_votes(tau), atol=1e-15)


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e6])
def test_a_common_offset_changes_nothing(offset):
    np.testing.assert_allclose(sparsemax(SCORES + offset), sparsemax(SCORES), atol=1e-9)


def test_the_votes_of_two_classes_differ_by_no_more_than_their_scores():
    votes = sparsemax(SCORES)
    for k in range(4):
        difference, scores = votes[:, k] - votes[:, 0], SCORES[:, k] - SCORES[:, 0]
        assert (difference * scores >= 0).all()
        assert (np.abs(difference) <= np.abs(scores) + 1e-15).all()


def test_the_right_votes():
    np.testing.assert_array_equal(right_votes(np.array([0, 1]), 2), [-1, 1])
    np.testing.assert_array_equal(right_votes(np.array([2, 0]), 3), [[0, 0, 1], [1, 0, 0]])
