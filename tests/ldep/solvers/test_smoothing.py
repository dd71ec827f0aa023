"""The smoothed objective: its gradient, and what happens to it as the temperature goes to zero."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad

from ldep.solvers import _smoothing
from ldep.solvers._smoothing import Differences, PlateauRule, SmoothedObjective, TwoMaxima
from ldep.training import LOSSES, LinearPieces
from tests.support.problems import many_class_problem, noisy_problem, random_start, with_weights

PROBLEMS = pytest.mark.parametrize(
    "make_problem",
    [partial(make, loss=loss) for make in (noisy_problem, many_class_problem) for loss in LOSSES],
    ids=lambda make: f"{make.func.__name__}, {make.keywords['loss']}",
)


@PROBLEMS
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), temperature=st.sampled_from([2.0, 0.3]), alpha=st.sampled_from([0.0, 0.5, 20.0]))
def test_the_gradient_is_that_of_the_smoothed_objective(make_problem, seed, temperature, alpha):
    smoothed = SmoothedObjective(make_problem(seed, alpha), temperature, exact_maxima=False)
    theta = random_start(smoothed.problem, seed)
    gradient = smoothed(theta)[1]
    error = check_grad(lambda t: smoothed(t)[0], lambda t: smoothed(t)[1], theta, epsilon=1e-6)
    # The Huber hinge has jumps in its second derivative: finite differences are good to about 1e-6 / T.
    assert error <= 1e-4 * (1 + np.linalg.norm(gradient))


@PROBLEMS
def test_with_exact_maxima_the_gradient_is_a_subgradient_of_the_objective(make_problem):
    problem = make_problem(0, 0.5)
    theta = random_start(problem)
    value, gradient = SmoothedObjective(problem, 1e-9, exact_maxima=True)(theta)
    assert value == pytest.approx(problem.objective(theta), rel=1e-6)
    direction = np.random.default_rng(1).normal(size=theta.size)
    slope = (problem.objective(theta + 1e-7 * direction) - problem.objective(theta)) / 1e-7
    assert slope == pytest.approx(gradient @ direction, rel=1e-4)


@PROBLEMS
def test_the_objective_without_smoothing_is_recorded(make_problem):
    problem = make_problem(0, 0.5)
    theta = random_start(problem)
    smoothed = SmoothedObjective(problem, 2.0, exact_maxima=False)
    smoothed(theta)
    assert smoothed.exact == pytest.approx(problem.objective(theta), rel=1e-12)


@PROBLEMS
def test_weights_count_and_chunks_do_not(monkeypatch, make_problem):
    problem = make_problem(0, 0.5, m=90)
    weighted = with_weights(problem, np.arange(1.0, len(problem.X) + 1))
    theta = random_start(problem)
    whole = SmoothedObjective(weighted, 0.5, exact_maxima=False)(theta)
    assert whole[0] > 2 * SmoothedObjective(problem, 0.5, exact_maxima=False)(theta)[0]
    monkeypatch.setattr(_smoothing, "CHUNK", 7)
    parts = SmoothedObjective(weighted, 0.5, exact_maxima=False)(theta)
    assert parts[0] == pytest.approx(whole[0], rel=1e-12)
    np.testing.assert_allclose(parts[1], whole[1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("exact_maxima", [False, True])
@pytest.mark.parametrize("temperature", [2.0, 0.1])
def test_two_classes_are_two_differences_that_subtract_zero(temperature, exact_maxima, loss):
    """The scores of the classes are then the dilation and the erosion, and their difference is tau."""
    problem = noisy_problem(0, 0.5)
    scores = problem.pieces.scores(random_start(problem), problem.X)
    two = TwoMaxima(problem.pieces, temperature, loss, exact_maxima=exact_maxima)
    expected = two(scores.copy(), problem.y, problem.weight)
    four = Differences(LinearPieces((3, 3, 1, 1), 3), temperature, loss, exact_maxima=exact_maxima)
    with_zeros = np.vstack([scores, np.zeros((2, len(problem.y)))])
    found = four(with_zeros, np.where(problem.y > 0, 0.0, 1.0), problem.weight)
    assert found.smooth == pytest.approx(expected.smooth, rel=1e-12)
    assert found.exact == pytest.approx(expected.exact, rel=1e-12)
    np.testing.assert_allclose(found.gradient[:6], expected.gradient, atol=1e-12)


def test_a_plateau_is_five_iterations_with_too_little_gain():
    rule = PlateauRule(tol=0.01, least_gain=0.0)
    falling = [rule.update(value) for value in (100.0, 90.0, 80.0, 70.0, 60.0, 50.0)]
    flat = [rule.update(value) for value in (50.0, 49.9, 49.9, 49.8, 49.8)]
    assert falling == [False] * 6
    assert flat == [False] * 4 + [True]
