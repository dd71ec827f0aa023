"""The program of the paper in CVXPY and DCCP, which is the reference for the other solvers."""

import numpy as np
import pytest

from ldep.solvers import SOLVERS, Anneal, Ccp, Dccp, _dccp
from ldep.training import MorphologicalPieces, Problem
from tests.support.problems import noisy_problem, noisy_samples, random_start


@pytest.mark.parametrize("seed", range(3))
def test_ccp_is_no_worse_than_dccp_from_the_same_start(seed):
    problem = noisy_problem(seed, 0.0, m=60)
    theta = random_start(problem, seed)
    reference = Dccp().solve(problem, theta)
    assert Ccp().solve(problem, theta).objective <= reference.objective + 1e-6


def test_anneal_is_within_one_per_cent_of_dccp_or_better():
    problem = noisy_problem(4, 1.0, m=60)
    theta = random_start(problem, 4)
    best = min(Anneal().solve(problem, random_start(problem, seed)).objective for seed in range(4))
    assert best <= 1.01 * Dccp().solve(problem, theta).objective


@pytest.mark.parametrize("alpha", [0.5, 0.0])
def test_where_the_problem_is_convex_all_solvers_agree(alpha):
    """With one piece per maximum there is one minimum. DCCP's solvers stop at a tolerance of about 1e-5."""
    problem = noisy_problem(6, alpha, r=1, m=60)
    values = [solver().solve(problem, random_start(problem)).objective for solver in SOLVERS.values()]
    np.testing.assert_allclose(values, values[0], rtol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_the_slack_of_the_program_is_one_minus_y_tau(alpha):
    """With that slack every constraint is tight, and the objective of the program is F."""
    problem = noisy_problem(7, alpha, m=40)
    theta = random_start(problem, 7)
    program, _ = _dccp.paper_program(problem, theta)
    for constraint in program.constraints:
        np.testing.assert_allclose(constraint.expr.value, 0.0, atol=1e-12)
    assert program.objective.value == pytest.approx(problem.objective(theta), rel=1e-12)


def test_every_iteration_of_dccp_is_recorded():
    """The contract with DCCP: its `iter` solves one subproblem per iteration and sets the values of the variables."""
    problem = noisy_problem(8, 0.0, m=40)
    solution = Dccp().solve(problem, random_start(problem))
    assert len(solution.history["objective"]) == solution.n_iter > 1
    assert solution.history["objective"][-1] == pytest.approx(solution.objective, rel=1e-9)
    assert len(set(solution.history["objective"])) > 1
    assert solution.converged


@pytest.mark.parametrize("tau_ini", [0.005, 1.0])
@pytest.mark.parametrize("seed", range(2))
def test_dccp_solves_two_subproblems_of_separable_samples(seed, tau_ini):
    """It ends when two costs in a row are equal, so it solves one more than `ccp`, whatever the first weight."""
    problem = noisy_problem(seed, 0.0, r=3, m=40, n=10)
    theta = random_start(problem, seed)
    reference = Dccp(tau_ini=tau_ini).solve(problem, theta)
    assert reference.history["objective"] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert Ccp(n_kicks=0, min_iter=2).solve(problem, theta).n_iter == reference.n_iter


def test_ccp_leaves_the_choice_between_parameters_without_loss_to_dccp():
    problem = noisy_problem(0, 0.0, r=3, m=40, n=10)
    theta = random_start(problem)
    size = 2 * 11 * 3 * 40  # two pieces of eleven coefficients for each sample and each piece of the other class
    reference = Dccp(cvx_solver="CLARABEL", tau_ini=0.005).solve(problem, theta)
    chosen = Ccp(n_kicks=0, dccp_up_to=size).solve(problem, theta)
    np.testing.assert_array_equal(chosen.theta, reference.theta)
    assert chosen.n_iter == reference.n_iter == 2
    bare = Ccp(n_kicks=0, dccp_up_to=size - 1).solve(problem, theta)
    np.testing.assert_array_equal(bare.theta, Ccp(n_kicks=0).solve(problem, theta).theta)
    assert np.abs(bare.theta - chosen.theta).max() > 1e-3


def test_ccp_does_not_ask_dccp_where_samples_overlap():
    problem = noisy_problem(0, 0.0, m=60)
    theta = random_start(problem)
    asked, bare = (Ccp(n_kicks=0, dccp_up_to=limit).solve(problem, theta) for limit in (10**9, 0))
    np.testing.assert_array_equal(asked.theta, bare.theta)


def test_the_default_weight_of_dccp_costs_thirty_iterations_where_samples_overlap():
    """While its weight, 0.005 * 1.2^k, is below that of a slack, DCCP leaves the constraints violated and goes on."""
    problem = noisy_problem(0, 0.0, m=60)
    assert Dccp(tau_ini=0.005).solve(problem, random_start(problem)).n_iter > 30


def test_dccp_stops_at_max_iter():
    """DCCP makes one iteration more than it is asked for."""
    problem = noisy_problem(1, 0.0, m=60)
    solution = Dccp().solve(problem, random_start(problem), max_iter=1)
    assert solution.n_iter == 2
    assert not solution.converged


def test_other_pieces_are_refused():
    problem = Problem(*noisy_samples(0, n=2), MorphologicalPieces(2), np.zeros(2))
    with pytest.raises(ValueError, match=r"'dccp' needs an ℓ-DEP.*'anneal' or 'ccp'"):
        Dccp().check(problem)


def test_mosek_without_a_licence_is_one_sentence(monkeypatch):
    """The tests have no licence: only this error, and the same program by other solvers, can be tested."""
    monkeypatch.delenv("MOSEKLM_LICENSE_FILE", raising=False)
    problem = noisy_problem(0, 0.0, m=20)
    with pytest.raises(
        RuntimeError,
        match=r"MOSEK has no valid licence here \(.*\); get one from MOSEK, or use cvx_solver= one of .*HIGHS",
    ):
        Dccp(cvx_solver="MOSEK").solve(problem, random_start(problem))


def test_a_solver_that_is_not_installed_is_refused_whatever_the_case_of_its_name():
    problem = noisy_problem(0, 0.0, m=20)
    with pytest.raises(ValueError, match=r"'GUROBI' is not installed; installed: .*HIGHS"):
        Dccp(cvx_solver="gurobi").solve(problem, random_start(problem))


@pytest.mark.parametrize("name", ["CLARABEL", "HIGHS"])
def test_other_cvxpy_solvers_find_the_same_minimum(name):
    problem = noisy_problem(9, 0.0, r=1, m=40)
    theta = random_start(problem)
    exact = Ccp().solve(problem, theta).objective
    assert Dccp(cvx_solver=name).solve(problem, theta).objective == pytest.approx(exact, rel=1e-4)


def test_highs_refuses_a_quadratic_program():
    problem = noisy_problem(0, 1.0, m=20)
    with pytest.raises(ValueError, match="alpha = 0 only"):
        Dccp(cvx_solver="HIGHS").solve(problem, random_start(problem))
