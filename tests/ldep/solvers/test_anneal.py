"""Annealing: its temperatures, its precision, its end."""

import warnings

import numpy as np
import pytest

from ldep._utils import single_thread
from ldep.solvers import Anneal, Ccp, _anneal
from ldep.training import Problem, Samples, condition
from ldep.training._starts import kmeans
from tests.support.problems import noisy_problem, random_start


def test_the_first_temperature_falls_with_the_penalty():
    temperatures = [_anneal.first_temperature(noisy_problem(0, alpha)) for alpha in (0.0, 0.1, 1.0, 100.0)]
    assert temperatures[0] == _anneal.HOT
    assert temperatures == sorted(temperatures, reverse=True)
    assert temperatures[-1] >= _anneal.WARM


def test_the_first_temperature_is_higher_for_more_than_two_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), np.arange(200)
    two, _ = condition(Samples(X, np.where(y % 2, 1.0, -1.0), np.ones(200)), (6, 6), 4.0)
    three, _ = condition(Samples(X, y % 3, np.ones(200)), (2,) * 6, 4.0)
    assert _anneal.first_temperature(three) == pytest.approx(5 * _anneal.first_temperature(two))


def test_a_strong_penalty_does_not_make_all_pieces_equal():
    """From too high a temperature all pieces of a group end equal, at an objective some 20 % higher."""
    problem = noisy_problem(0, 2.0, r=5, m=300, n=4)
    theta = kmeans(problem, np.random.default_rng(0))
    table = problem.pieces.table(Anneal().solve(problem, theta).theta)
    assert np.ptp(table[:5], axis=0).max() > 1e-2


def test_polish_ends_at_a_fixed_point_of_the_convex_concave_procedure():
    problem = noisy_problem(1, 0.5)
    rough, fine = (Anneal(polish=flag).solve(problem, random_start(problem)) for flag in (False, True))
    assert fine.objective <= rough.objective
    again = Ccp(n_kicks=0).solve(problem, fine.theta)
    assert again.objective == pytest.approx(fine.objective, rel=2e-3)
    assert len(fine.history["objective"]) == fine.n_iter > rough.n_iter


def test_the_solution_is_in_double_precision():
    """The scores are float32 while annealing."""
    problem = noisy_problem(2, 1.0)
    solution = Anneal().solve(problem, random_start(problem))
    assert solution.theta.dtype == np.float64
    assert solution.objective == problem.objective(solution.theta)


@pytest.mark.parametrize("scale", [2.0**-200, 2.0**200])
def test_weights_beyond_single_precision_do_not_change_the_solution(scale):
    """F is proportional to weights and penalty. Nothing overflows on the way, which numpy would warn of."""
    problem = noisy_problem(3, 0.5)
    extreme = Problem(problem.X, problem.y, scale * problem.weight, problem.pieces, scale * problem.ridge)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = Anneal().solve(extreme, random_start(problem))
    reference = Anneal().solve(problem, random_start(problem))
    np.testing.assert_array_equal(solution.theta, reference.theta)
    np.testing.assert_array_equal(solution.history["objective"], np.multiply(scale, reference.history["objective"]))


def test_badly_conditioned_features_are_no_obstacle():
    """The class is in the difference of two columns that agree to six digits, as in Hill-Valley."""
    rng = np.random.default_rng(0)
    base, sign = rng.normal(size=300), np.where(rng.random(300) < 0.5, -1.0, 1.0)
    X = np.column_stack([base, base + 1e-6 * sign])
    problem, _ = condition(Samples(X, sign, np.ones(300)), (3, 3), 0.0)
    with single_thread():
        assert Anneal().solve(problem, random_start(problem)).objective == pytest.approx(0.0, abs=1e-3)
