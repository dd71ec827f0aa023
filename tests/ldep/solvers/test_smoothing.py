"""The smoothed objective: its gradient, and what happens to it as the temperature goes to zero."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad

from ldep.solvers import _smoothing
from ldep.solvers._smooth_loss import ManyMaxima, TwoMaxima
from ldep.solvers._smoothing import PlateauRule, SmoothedObjective
from ldep.training import LinearPieces
from tests.support.problems import many_class_problem, noisy_problem, random_start, with_weights

PROBLEMS = pytest.mark.parametrize("make_problem", [noisy_problem, many_class_problem])


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


@pytest.mark.parametrize("exact_maxima", [False, True])
@pytest.mark.parametrize("temperature", [2.0, 0.1])
def test_both_losses_agree_where_there_are_two_classes(temperature, exact_maxima):
    problem = noisy_problem(0, 0.5)
    theta = random_start(problem)
    scores = problem.pieces.scores(theta, problem.X)
    two = TwoMaxima(problem.pieces, temperature, exact_maxima=exact_maxima)(scores.copy(), problem.y, problem.weight)
    groups = np.where(problem.y > 0, 0.0, 1.0)
    many = ManyMaxima(problem.pieces, temperature, exact_maxima=exact_maxima)(scores.copy(), groups, problem.weight)
    assert many.smooth == pytest.approx(two.smooth, rel=1e-12)
    assert many.exact == pytest.approx(two.exact, rel=1e-12)
    np.testing.assert_allclose(
        problem.pieces.pullback(many.gradient, problem.X[many.rows]),
        problem.pieces.pullback(two.gradient, problem.X),
        atol=1e-10,
    )


def test_groups_of_different_sizes_are_refused_when_there_are_more_than_two():
    with pytest.raises(ValueError, match=r"the same size, but the sizes are \(2, 3, 2\)"):
        ManyMaxima(LinearPieces((2, 3, 2), 3), 1.0, exact_maxima=False)


def test_a_plateau_is_five_iterations_with_too_little_gain():
    rule = PlateauRule(tol=0.01, least_gain=0.0)
    falling = [rule.update(value) for value in (100.0, 90.0, 80.0, 70.0, 60.0, 50.0)]
    flat = [rule.update(value) for value in (50.0, 49.9, 49.9, 49.8, 49.8)]
    assert falling == [False] * 6
    assert flat == [False] * 4 + [True]
