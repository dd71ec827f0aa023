"""The convex-concave procedure: descent, engines, kicks."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldep.solvers import Anneal, Ccp, Dccp, _ccp
from ldep.training import LinearPieces, MorphologicalPieces, Problem, Samples, condition
from tests.support.problems import convex_bound, many_class_problem, noisy_problem, noisy_samples, random_start


@settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1), alpha=st.sampled_from([0.0, 0.1, 5.0]))
def test_the_objective_never_rises(seed, alpha):
    problem = noisy_problem(seed, alpha, r=2, m=50)
    theta = random_start(problem, seed)
    solution = Ccp().solve(problem, theta, max_iter=20)
    descent = [problem.objective(theta), *solution.history["objective"]]
    assert all(later <= earlier for earlier, later in pairwise(descent))
    assert solution.objective == pytest.approx(problem.objective(solution.theta), rel=1e-12)


@pytest.mark.parametrize("engine", ["interior", "highs"])
def test_both_engines_find_a_separation(engine):
    X = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    problem = condition(Samples(X, np.array([-1.0, 1.0, -1.0, 1.0, -1.0]), np.ones(5)), (4, 4), 0.0)[0]
    solution = Ccp(engine=engine, n_kicks=20).solve(problem, random_start(problem, 2))
    assert solution.objective == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("star", "value"),
    [
        # The two positives are on the two pieces of the dilation: a V-shaped tau separates them from the negative.
        ((0, 2, 1), 0.0),
        # Both are on one piece: the bound sees an affine tau, which is wrong by 2 on the sample in the middle.
        ((0, 2, 0), 2.0),
    ],
)
def test_the_linear_program_bounds_the_loss_at_the_given_pieces(star, value):
    """Positives at -1 and 1, a negative at 0, two pieces in the dilation and one in the erosion."""
    y = np.array([1.0, -1.0, 1.0])
    problem = Problem(np.array([[-1.0], [0.0], [1.0]]), y, np.ones(3), LinearPieces((2, 1), 1), np.zeros(1))
    theta = _ccp.solve_by_highs(problem, np.array(star))
    assert convex_bound(problem, np.array(star), theta) == pytest.approx(value, abs=1e-7)


def test_kicks_lower_the_objective_of_some_problems_and_raise_that_of_none():
    problems = [noisy_problem(seed, 0.0) for seed in range(5)]
    bare = np.array([Ccp(n_kicks=0).solve(problem, random_start(problem)).objective for problem in problems])
    kicked = np.array([Ccp(n_kicks=3).solve(problem, random_start(problem)).objective for problem in problems])
    assert (kicked <= bare).all()
    assert (kicked < 0.99 * bare).any()


def separable_problem(seed, m=40, n=10, r=3):
    """More parameters than samples: the first subproblem has the value zero."""
    return noisy_problem(seed, 0.0, r=r, m=m, n=n)


@pytest.mark.parametrize("engine", ["interior", "highs"])
def test_min_iter_goes_on_without_loss_and_moves_theta(engine):
    problem = separable_problem(0)
    theta = random_start(problem)
    once, five_times = (Ccp(engine=engine, n_kicks=0, min_iter=count).solve(problem, theta) for count in (1, 5))
    assert once.n_iter == 1
    assert five_times.n_iter == 5
    assert max(once.objective, five_times.objective) <= _ccp.ZERO
    assert np.abs(once.theta - five_times.theta).max() > 1e-3


def test_min_iter_does_not_repeat_a_subproblem():
    """Where theta solves the subproblem at itself, further iterations would change nothing."""
    problem = noisy_problem(3, 0.0)
    theta = random_start(problem)
    bare = Ccp(n_kicks=0).solve(problem, theta, tol=0.0)
    longer = Ccp(n_kicks=0, min_iter=50).solve(problem, theta, tol=0.0)
    assert longer.n_iter < 50
    assert longer.converged
    assert longer.objective <= bare.objective


def test_a_revived_piece_takes_over_samples_and_hardly_changes_the_objective():
    problem = noisy_problem(0, 0.0)
    theta = random_start(problem)
    table = problem.pieces.table(theta)
    table[1, -1] = -1e6  # idle
    revived = _ccp.revived(problem, theta)
    region = problem.pieces.scores(revived, problem.X)[:3].argmax(axis=0)
    assert (region == 1).any()
    assert problem.objective(revived) == pytest.approx(problem.objective(theta), abs=1e-2 * len(problem.X))


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1.0, 1e12, 1e30])
def test_highs_solves_problems_with_extreme_weights(scale):
    """F is proportional to the weights, so that the scale does not move the minimum."""
    samples = noisy_samples(0, m=40, n=2)
    weight = np.random.default_rng(0).uniform(0.1, 1.0, 40)
    problem = Problem(samples.X, samples.y, scale * weight, MorphologicalPieces(2), np.zeros(2))
    reference = Problem(samples.X, samples.y, weight, MorphologicalPieces(2), np.zeros(2))
    theta = np.array([0.5, 0.1, -0.2, 0.3, 0.0])
    star = _ccp.subtracted_pieces(problem, theta)
    bound = convex_bound(reference, star, _ccp.solve_by_highs(problem, star))
    assert bound == pytest.approx(convex_bound(reference, star, _ccp.solve_by_highs(reference, star)), rel=1e-3)


def test_highs_refuses_a_quadratic_program():
    problem = noisy_problem(0, 1.0)
    with pytest.raises(ValueError, match=r"'ccp' needs alpha = 0.*engine 'auto'"):
        Ccp(engine="highs").check(problem)


def test_trains_pieces_that_share_a_slope():
    problem = Problem(*noisy_samples(0, n=2), MorphologicalPieces(2), np.zeros(2))
    theta = np.array([0.5, 0.1, -0.2, 0.3, 0.0])
    solution = Ccp().solve(problem, theta)
    assert solution.objective < problem.objective(theta)
    assert 0 <= solution.theta[0] <= 1
    with pytest.raises(ValueError, match="'ccp' needs an ℓ-DEP"):
        Ccp(engine="interior").check(problem)


@pytest.mark.parametrize("solver", [Ccp(), Dccp(), Anneal(polish=True)], ids=lambda solver: type(solver).__name__)
def test_exact_methods_take_two_classes_and_the_hinge_only(solver):
    with pytest.raises(ValueError, match=r"needs two classes, and there are more\. Use solver='anneal'\."):
        solver.check(many_class_problem(0, 0.1))
    with pytest.raises(ValueError, match=r"needs loss='hinge', and the loss is another one\. Pass loss='hinge'"):
        solver.check(noisy_problem(0, 0.1, loss="logistic"))
    with pytest.raises(ValueError, match=r"needs loss='hinge'"):
        solver.check_loss("logistic")
    solver.check_loss("hinge")
    Anneal().check_loss("logistic")
