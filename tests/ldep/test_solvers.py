"""The solvers: one problem, one meaning of its objective. CVXPY + DCCP is the oracle."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad, linprog

from ldep import starts
from ldep.conditioning import condition
from ldep.pieces import LinearPieces, MorphologicalPieces
from ldep.problem import Problem
from ldep.samples import Samples
from ldep.solvers import SOLVERS, _interior, anneal, ccp, dccp
from ldep.threads import single_thread


def samples(seed: int, m: int = 80, n: int = 3) -> Samples:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    tau = (X @ rng.normal(size=(n, 3))).max(axis=1) - (X @ rng.normal(size=(n, 3))).max(axis=1)
    return Samples(X, np.where(tau + 0.5 * rng.normal(size=m) > 0, 1.0, -1.0), np.ones(m))


def problem_of(seed: int, alpha: float, r: int = 3, m: int = 80, n: int = 3) -> Problem:
    return condition(samples(seed, m, n), r, r, alpha)[0]


def start_of(problem: Problem, seed: int = 0) -> np.ndarray:
    return starts.random(problem, np.random.default_rng(seed))


class TestGradient:
    @settings(max_examples=25)
    @given(
        seed=st.integers(0, 2**32 - 1), temperature=st.sampled_from([2.0, 0.3]), alpha=st.sampled_from([0.0, 0.5, 20.0])
    )
    def test_is_that_of_the_smoothed_objective(self, seed, temperature, alpha):
        smooth = anneal.Smoothed(problem_of(seed, alpha), temperature, hard=False)
        theta = start_of(smooth.problem, seed)
        gradient = smooth(theta)[1]
        error = check_grad(lambda t: smooth(t)[0], lambda t: smooth(t)[1], theta, epsilon=1e-6)
        # The Huber hinge has jumps in its second derivative: finite differences are good to about 1e-6 / T.
        assert error <= 1e-4 * (1 + np.linalg.norm(gradient))

    def test_is_a_subgradient_of_the_objective_when_the_maxima_are_exact(self):
        problem = problem_of(0, 0.5)
        theta = start_of(problem)
        value, gradient = anneal.Smoothed(problem, 1e-9, hard=True)(theta)
        assert value == pytest.approx(problem.objective(theta), rel=1e-6)
        direction = np.random.default_rng(1).normal(size=theta.size)
        slope = (problem.objective(theta + 1e-7 * direction) - problem.objective(theta)) / 1e-7
        assert slope == pytest.approx(gradient @ direction, rel=1e-4)

    def test_weights_and_chunks_count(self, monkeypatch):
        problem = problem_of(0, 0.5, m=90)
        weighted = Problem(problem.X, problem.y, np.arange(1.0, len(problem.X) + 1), problem.pieces, problem.ridge)
        theta = start_of(problem)
        whole = anneal.Smoothed(weighted, 0.5, hard=False)(theta)
        monkeypatch.setattr(anneal, "CHUNK", 7)
        parts = anneal.Smoothed(weighted, 0.5, hard=False)(theta)
        assert parts[0] == pytest.approx(whole[0], rel=1e-12)
        np.testing.assert_allclose(parts[1], whole[1], rtol=1e-10, atol=1e-10)


class TestInteriorPoint:
    @pytest.mark.parametrize("seed", range(4))
    def test_solves_the_linear_program_as_highs_does(self, seed):
        problem = problem_of(seed, 0.0)
        star = ccp.active(problem, start_of(problem, seed))
        theta, optimal = _interior.Subproblem(problem).solve(star)
        assert optimal
        assert bound(problem, star, theta) == pytest.approx(bound(problem, star, ccp._highs(problem, star)), abs=1e-5)

    @pytest.mark.parametrize("alpha", [1e-3, 1.0, 30.0])
    def test_solves_the_quadratic_program_as_clarabel_does(self, alpha):
        cp = pytest.importorskip("cvxpy")
        problem = problem_of(5, alpha)
        star = ccp.active(problem, start_of(problem))
        theta, optimal = _interior.Subproblem(problem).solve(star)
        assert optimal
        table = cp.Variable((6, problem.X.shape[1] + 1))
        scores = table[:, :-1] @ problem.X.T + cp.reshape(table[:, -1], (6, 1), order="C") @ np.ones(
            (1, len(problem.X))
        )
        losses = []
        for k in range(len(problem.X)):
            group = scores[:3, k] if problem.y[k] < 0 else scores[3:, k]
            losses.append(cp.pos(1 + cp.max(group) - scores[int(star[k]), k]))
        penalty = cp.sum_squares(table[:, :-1] @ np.diag(np.sqrt(problem.ridge / 2)))
        value = cp.Problem(cp.Minimize(cp.sum(cp.hstack(losses)) + penalty)).solve(solver="CLARABEL")
        assert bound(problem, star, theta) == pytest.approx(value, rel=1e-5)

    def test_weights_are_repetitions(self):
        problem = problem_of(1, 0.5, m=40)
        double = Problem(problem.X, problem.y, np.full(len(problem.X), 2.0), problem.pieces, problem.ridge)
        twice = Problem(
            np.vstack([problem.X] * 2),
            np.tile(problem.y, 2),
            np.ones(2 * len(problem.X)),
            problem.pieces,
            problem.ridge,
        )
        star = ccp.active(problem, start_of(problem))
        one, other = _interior.Subproblem(double).solve(star)[0], _interior.Subproblem(twice).solve(np.tile(star, 2))[0]
        assert bound(double, star, one) == pytest.approx(bound(double, star, other), rel=1e-6)


def bound(problem: Problem, star: np.ndarray, theta: np.ndarray) -> float:
    """The convex upper bound of F that linearises at `star`, the objective of the subproblem."""
    scores, r1 = problem.pieces.scores(theta, problem.X), problem.pieces.r1
    top = np.where(problem.y < 0, scores[:r1].max(axis=0), scores[r1:].max(axis=0))
    slack = 1.0 + top - scores[star, np.arange(len(star))]
    return float(problem.weight @ np.maximum(slack, 0.0)) + problem.penalty(theta)[0]


class TestConvexConcaveProcedure:
    @settings(max_examples=15)
    @given(seed=st.integers(0, 2**32 - 1), alpha=st.sampled_from([0.0, 0.1, 5.0]))
    def test_never_rises(self, seed, alpha):
        problem = problem_of(seed, alpha, m=50)
        theta = start_of(problem, seed)
        solution = ccp.solve(problem, theta, max_iter=40)
        descent = [problem.objective(theta), *solution.history["objective"]]
        assert all(later <= earlier for earlier, later in pairwise(descent))
        assert solution.objective == pytest.approx(problem.objective(solution.theta), rel=1e-12)

    @pytest.mark.parametrize("engine", ["interior", "highs"])
    def test_both_engines_find_a_separation(self, engine):
        X = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
        problem = condition(Samples(X, np.array([-1.0, 1.0, -1.0, 1.0, -1.0]), np.ones(5)), 4, 4, 0.0)[0]
        solution = ccp.solve(problem, start_of(problem, 2), engine=engine, n_kicks=20)
        assert solution.objective == pytest.approx(0.0, abs=1e-6)

    def test_kicks_only_help(self):
        problem = problem_of(3, 0.0)
        theta = start_of(problem)
        bare, kicked = (ccp.solve(problem, theta, n_kicks=n).objective for n in (0, 3))
        assert kicked <= bare

    def test_a_revived_piece_takes_over_samples_and_hardly_moves_the_objective(self):
        problem = problem_of(0, 0.0)
        theta = start_of(problem)
        table = problem.pieces.table(theta)
        table[1, -1] = -1e6  # idle
        revived = ccp.revive(problem, theta)
        region = problem.pieces.scores(revived, problem.X)[:3].argmax(axis=0)
        assert (region == 1).any()
        assert problem.objective(revived) == pytest.approx(problem.objective(theta), abs=1e-2 * len(problem.X))

    def test_a_quadratic_program_is_not_for_highs(self):
        problem = problem_of(0, 1.0)
        with pytest.raises(ValueError, match="'highs' needs alpha = 0"):
            ccp.solve(problem, start_of(problem), engine="highs")

    def test_trains_other_pieces_too(self):
        given_samples = samples(0, n=2)
        problem = Problem(*given_samples, MorphologicalPieces(2), np.zeros(2))
        theta = np.array([0.5, 0.1, -0.2, 0.3, 0.0])
        solution = ccp.solve(problem, theta)
        assert solution.objective <= problem.objective(theta)
        assert 0 <= solution.theta[0] <= 1


class TestAgainstTheOracle:
    @pytest.mark.parametrize("seed", range(3))
    def test_ccp_is_no_worse_than_dccp_from_the_same_start(self, seed):
        problem = problem_of(seed, 0.0, m=60)
        theta = start_of(problem, seed)
        oracle = dccp.solve(problem, theta)
        assert ccp.solve(problem, theta).objective <= oracle.objective + 1e-6

    def test_anneal_is_close_to_dccp_or_better(self):
        problem = problem_of(4, 1.0, m=60)
        theta = start_of(problem, 4)
        best = min(anneal.solve(problem, start_of(problem, seed)).objective for seed in range(4))
        assert best <= 1.01 * dccp.solve(problem, theta).objective

    def test_where_the_problem_is_convex_all_agree(self):
        """One piece each: any solver must find the one minimum. DCCP's solvers stop at 1e-5 or so."""
        for alpha in (0.5, 0.0):
            problem = problem_of(6, alpha, r=1, m=60)
            values = [solve(problem, start_of(problem)).objective for solve in SOLVERS.values()]
            np.testing.assert_allclose(values, values[0], rtol=1e-4)

    def test_dccp_states_the_papers_program(self):
        """At its solution the slack variables are 1 - y tau: the objective of the program is the hinge loss."""
        problem = problem_of(7, 0.0, m=40)
        solution = dccp.solve(problem, start_of(problem))
        program, _ = dccp._program(problem, solution.theta)
        assert program.objective.value == pytest.approx(problem.hinge(solution.theta), abs=1e-6)
        assert all(constraint.violation().max() <= 1e-9 for constraint in program.constraints)

    def test_dccp_tells_of_each_iteration(self):
        problem = problem_of(8, 0.0, m=40)
        solution = dccp.solve(problem, start_of(problem))
        assert len(solution.history["objective"]) == solution.n_iter > 1
        assert solution.converged


class TestMosek:
    """No licence is at hand. The error and the same program by other solvers are what can be tested."""

    def test_without_a_licence_says_so_in_one_sentence(self, monkeypatch):
        monkeypatch.delenv("MOSEKLM_LICENSE_FILE", raising=False)
        problem = problem_of(0, 0.0, m=20)
        with pytest.raises(
            RuntimeError,
            match=r"MOSEK has no valid licence here \(.*\); get one from MOSEK, or use cvx_solver= one of .*HIGHS",
        ):
            dccp.solve(problem, start_of(problem), cvx_solver="MOSEK")

    def test_the_name_may_be_in_lower_case_and_must_be_installed(self):
        problem = problem_of(0, 0.0, m=20)
        with pytest.raises(ValueError, match=r"'GUROBI' is not installed; installed: .*HIGHS"):
            dccp.solve(problem, start_of(problem), cvx_solver="gurobi")

    @pytest.mark.parametrize("name", ["CLARABEL", "HIGHS"])
    def test_the_same_program_goes_to_any_solver(self, name):
        problem = problem_of(9, 0.0, r=1, m=40)
        theta = start_of(problem)
        exact = ccp.solve(problem, theta).objective
        assert dccp.solve(problem, theta, cvx_solver=name).objective == pytest.approx(exact, rel=1e-4)

    def test_highs_has_no_quadratic_programs(self):
        problem = problem_of(0, 1.0, m=20)
        with pytest.raises(ValueError, match="alpha = 0 only"):
            dccp.solve(problem, start_of(problem), cvx_solver="HIGHS")


class TestAnneal:
    def test_starts_hot_without_a_penalty_and_cooler_with_one(self):
        temperatures = [anneal.hottest(problem_of(0, alpha)) for alpha in (0.0, 0.1, 1.0, 100.0)]
        assert temperatures[0] == anneal.HOT
        assert temperatures == sorted(temperatures, reverse=True)
        assert temperatures[-1] >= anneal.WARM

    def test_a_strong_penalty_does_not_melt_the_pieces_together(self):
        """From too hot a start all pieces of a group end equal, at an objective some 20 % higher."""
        problem = problem_of(0, 2.0, r=5, m=300, n=4)
        theta = starts.kmeans(problem, np.random.default_rng(0))
        table = problem.pieces.table(anneal.solve(problem, theta).theta)
        assert np.ptp(table[:5], axis=0).max() > 1e-2

    def test_polish_ends_at_a_fixed_point_of_the_procedure(self):
        problem = problem_of(1, 0.5)
        rough, fine = (anneal.solve(problem, start_of(problem), polish=flag) for flag in (False, True))
        assert fine.objective <= rough.objective
        again = ccp.solve(problem, fine.theta, n_kicks=0)
        assert again.objective == pytest.approx(fine.objective, rel=2e-3)

    def test_scores_are_single_precision_and_the_answer_is_not(self):
        problem = problem_of(2, 1.0)
        solution = anneal.solve(problem, start_of(problem))
        assert solution.theta.dtype == np.float64
        assert solution.objective == problem.objective(solution.theta)

    def test_badly_conditioned_features_are_the_solvers_business(self):
        """Two columns that are equal to six digits hold the class in their difference, as in Hill-Valley."""
        rng = np.random.default_rng(0)
        base, sign = rng.normal(size=300), np.where(rng.random(300) < 0.5, -1.0, 1.0)
        X = np.column_stack([base, base + 1e-6 * sign])
        problem, _ = condition(Samples(X, sign, np.ones(300)), 3, 3, 0.0)
        with single_thread():
            assert anneal.solve(problem, start_of(problem)).objective == pytest.approx(0.0, abs=1e-3)


def test_the_lp_of_a_subproblem_is_the_papers():
    """For one positive and one negative sample the LP can be written by hand."""
    problem = Problem(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.ones(2), LinearPieces(1, 1, 1), np.zeros(1))
    theta = ccp._highs(problem, np.array([0, 1]))
    assert problem.hinge(theta) == pytest.approx(0.0, abs=1e-7)
    by_hand = linprog(
        [0, 0, 1, 1], A_ub=[[-1, -1, -1, 0], [-1, 1, 0, -1]], b_ub=[-1, -1], bounds=[(None, None)] * 2 + [(0, None)] * 2
    )
    assert by_hand.fun == pytest.approx(0.0, abs=1e-7)
