"""Conditioning states the same problem in other coordinates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldep.training import ROTATE_UP_TO, LinearPieces, Problem, Samples, condition, scaled_alpha
from ldep.training._coordinates import ScaledCoordinates


def samples(seed: int, m: int = 60, n: int = 4) -> Samples:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) @ rng.normal(size=(n, n)) * rng.uniform(0.1, 10, n) + rng.normal(size=n)
    return Samples(X, np.where(rng.random(m) < 0.5, -1.0, 1.0), rng.uniform(0.5, 2.0, m))


def in_user_coordinates(user_samples: Samples, theta, coordinates, group_sizes, alpha) -> tuple[Problem, np.ndarray]:
    n = user_samples.X.shape[1]
    return Problem(*user_samples, LinearPieces(group_sizes, n), np.full(n, alpha)), coordinates.to_user(theta).ravel()


@given(seed=st.integers(0, 2**32 - 1), alpha=st.sampled_from([0.0, 1e-3, 1.0, 100.0]))
def test_tau_and_objective_are_those_of_the_user(seed, alpha):
    user_samples = samples(seed)
    problem, coordinates = condition(user_samples, (3, 2), alpha)
    theta = np.random.default_rng(seed).normal(size=problem.pieces.n_parameters)
    user, user_theta = in_user_coordinates(user_samples, theta, coordinates, (3, 2), alpha)
    np.testing.assert_allclose(user.margins(user_theta), problem.margins(theta), rtol=1e-6, atol=1e-6)
    assert user.objective(user_theta) == pytest.approx(problem.objective(theta), rel=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 50.0])
@pytest.mark.parametrize("penalty", ["norm", "variance"])
def test_the_curvature_is_round(alpha, penalty):
    """B^T (C + kappa P) B = I, where alpha B^T P B is the ridge."""
    user_samples = samples(1)
    problem, _ = condition(user_samples, (3, 2), alpha, penalty)
    weight = user_samples.weight
    covariance = (problem.X.T * weight) @ problem.X / weight.sum()
    np.testing.assert_allclose(covariance + np.diag(problem.ridge) * 5 / weight.sum(), np.eye(4), atol=1e-9)


def test_the_variance_penalty_is_the_variance_of_the_pieces():
    user_samples = samples(2)
    problem, _ = condition(user_samples, (2, 2), 0.7, "variance")
    theta = np.random.default_rng(0).normal(size=problem.pieces.n_parameters)
    scores = problem.pieces.scores(theta, problem.X)
    mean = np.average(scores, axis=1, weights=user_samples.weight)
    variance = np.average((scores - mean[:, None]) ** 2, axis=1, weights=user_samples.weight)
    assert problem.penalty(theta)[0] == pytest.approx(0.35 * variance.sum())


def test_directions_without_variance_are_left_out():
    X, y, weight = samples(3)
    X = np.column_stack([X, X[:, 0], np.full(len(X), 3.3)])
    problem, _ = condition(Samples(X, y, weight), (2, 2), 0.0)
    assert problem.X.shape[1] == 4


def test_many_columns_are_scaled_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, ROTATE_UP_TO + 1)) * 7.0
    user_samples = Samples(X, np.where(rng.random(50) < 0.5, -1.0, 1.0), np.ones(50))
    problem, coordinates = condition(user_samples, (2, 2), 1.0)
    assert isinstance(coordinates, ScaledCoordinates)
    assert coordinates.n_directions == ROTATE_UP_TO + 1
    theta = rng.normal(size=problem.pieces.n_parameters)
    user, user_theta = in_user_coordinates(user_samples, theta, coordinates, (2, 2), 1.0)
    assert user.objective(user_theta) == pytest.approx(problem.objective(theta), rel=1e-9)


@pytest.mark.parametrize("penalty", ["norm", "variance"])
@pytest.mark.parametrize(("n", "factor"), [(4, 0.4), (10, 1.0), (40, 4.0), (60, 4.0)])
def test_alpha_grows_with_the_number_of_features_for_more_than_two_classes(n, factor, penalty):
    """With more than two classes alpha is min(n, 40) / 10 times that of two. A constant column does not count."""
    X = np.random.default_rng(0).normal(size=(80, n))
    with_constant = Samples(np.column_stack([X, np.full(80, 7.0)]), np.arange(80) % 3, np.ones(80))
    of_two = scaled_alpha(with_constant, penalty, 2)
    assert scaled_alpha(with_constant, penalty, 3) == pytest.approx(factor * of_two)
