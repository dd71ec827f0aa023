"""The interior-point method for the convex subproblems, against HiGHS and Clarabel."""

from dataclasses import replace

import numpy as np
import pytest

from ldep.solvers import _ccp
from ldep.solvers._interior import Subproblem
from ldep.training import Problem
from tests.support.problems import convex_bound, noisy_problem, random_start, with_weights


@pytest.mark.parametrize("seed", range(4))
def test_solves_the_linear_program_as_highs_does(seed):
    problem = noisy_problem(seed, 0.0)
    star = _ccp.subtracted_pieces(problem, random_start(problem, seed))
    theta, optimal = Subproblem(problem).solve(star)
    assert optimal
    by_highs = convex_bound(problem, star, _ccp.solve_by_highs(problem, star))
    assert convex_bound(problem, star, theta) == pytest.approx(by_highs, abs=1e-5)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 30.0])
def test_solves_the_quadratic_program_as_clarabel_does(alpha):
    cp = pytest.importorskip("cvxpy")
    problem = noisy_problem(5, alpha)
    star = _ccp.subtracted_pieces(problem, random_start(problem))
    theta, optimal = Subproblem(problem).solve(star)
    assert optimal
    table = cp.Variable((6, problem.X.shape[1] + 1))
    offsets = cp.reshape(table[:, -1], (6, 1), order="C") @ np.ones((1, len(problem.X)))
    scores = table[:, :-1] @ problem.X.T + offsets
    losses = []
    for k in range(len(problem.X)):
        group = scores[:3, k] if problem.y[k] < 0 else scores[3:, k]
        losses.append(cp.pos(1 + cp.max(group) - scores[int(star[k]), k]))
    penalty = cp.sum_squares(table[:, :-1] @ np.diag(np.sqrt(problem.ridge / 2)))
    value = cp.Problem(cp.Minimize(cp.sum(cp.hstack(losses)) + penalty)).solve(solver="CLARABEL")
    assert convex_bound(problem, star, theta) == pytest.approx(value, rel=1e-5)


def test_a_weight_of_two_is_a_repetition():
    problem = noisy_problem(1, 0.5, m=40)
    m = len(problem.X)
    double = with_weights(problem, np.full(m, 2.0))
    twice = Problem(np.vstack([problem.X] * 2), np.tile(problem.y, 2), np.ones(2 * m), problem.pieces, problem.ridge)
    star = _ccp.subtracted_pieces(problem, random_start(problem))
    one, other = Subproblem(double).solve(star)[0], Subproblem(twice).solve(np.tile(star, 2))[0]
    assert convex_bound(double, star, one) == pytest.approx(convex_bound(double, star, other), rel=1e-6)


def with_monotone(problem: Problem) -> Problem:
    """The problem with the first feature rising and the second falling."""
    signs = np.array([1.0, -1.0, *np.zeros(problem.X.shape[1] - 2)])
    return replace(problem, pieces=replace(problem.pieces, monotone=signs))


@pytest.mark.parametrize("seed", range(4))
def test_solves_the_bounded_linear_program_as_highs_does(seed):
    problem = with_monotone(noisy_problem(seed, 0.0))
    star = _ccp.subtracted_pieces(problem, random_start(problem, seed))
    theta, optimal = Subproblem(problem).solve(star)
    assert optimal
    lower, upper = problem.pieces.bounds
    assert ((theta >= lower) & (theta <= upper)).all()
    by_highs = convex_bound(problem, star, _ccp.solve_by_highs(problem, star))
    assert convex_bound(problem, star, theta) == pytest.approx(by_highs, abs=1e-5)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 30.0])
def test_the_bounded_quadratic_program_has_no_descent_direction_inside_the_bounds(alpha):
    problem = with_monotone(noisy_problem(5, alpha))
    star = _ccp.subtracted_pieces(problem, random_start(problem))
    theta, optimal = Subproblem(problem).solve(star)
    assert optimal
    value, rng = convex_bound(problem, star, theta), np.random.default_rng(0)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(50):
            nearby = np.clip(theta + size * rng.normal(size=len(theta)), *problem.pieces.bounds)
            assert convex_bound(problem, star, nearby) >= value * (1 - 1e-6)
