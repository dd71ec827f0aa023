"""A path of alphas: the same problems as `condition` states, each solved about as well as from a cold start."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from ldep.search._alpha_path import SharedCoordinates, follow
from ldep.solvers import Anneal
from ldep.training import LOSSES, Samples, condition, quick_kmeans


def samples(m=150, n=6, duplicate=False):
    X, y = make_classification(m, n, n_informative=4, n_redundant=0, n_clusters_per_class=2, random_state=0)
    X = X * np.logspace(-1, 1, n)
    if duplicate:
        X = np.column_stack([X, X[:, 0], np.ones(m)])
    return Samples(X, 2.0 * y - 1.0, np.random.default_rng(0).uniform(0.5, 2.0, m))


@pytest.mark.parametrize("penalty", ["norm", "variance"])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize(("duplicate", "loss"), [(False, "hinge"), (True, "hinge"), (False, "logistic")])
def test_the_problem_is_that_of_condition(penalty, alpha, duplicate, loss):
    """Same objective for the same model, and the same curvature, to rounding of the eigendecompositions.

    A direction in which the data do not vary may remain, with the variance of a rounding error: no slope there.
    """
    data = samples(duplicate=duplicate)
    shared = SharedCoordinates.of(data, penalty, 1e-3)
    problem, scale = shared.problem((3, 2), alpha, loss)
    own, own_coordinates = condition(data, (3, 2), alpha, penalty, loss=loss)
    varies = shared.variance > 1e-9
    theta = np.random.default_rng(1).normal(size=problem.pieces.n_parameters)
    problem.pieces.table(theta)[:, :-1] *= varies
    table = shared.coordinates.to_user((problem.pieces.table(theta) * np.append(scale, 1.0)).ravel())
    assert problem.objective(theta) == pytest.approx(own.objective(own_coordinates.to_solver(table)), rel=1e-8)
    np.testing.assert_allclose(
        np.sort(problem.ridge[varies]), np.sort(own.ridge)[: varies.sum()], rtol=1e-6, atol=1e-12
    )


def test_wide_data_are_scaled_only():
    rng = np.random.default_rng(0)
    data = Samples(rng.normal(size=(40, 700)), rng.choice([-1.0, 1.0], 40), np.ones(40))
    shared = SharedCoordinates.of(data, "norm", 0.1)
    problem, _ = shared.problem((2, 2), 10.0, "hinge")
    own, _ = condition(data, (2, 2), 10.0, "norm")
    np.testing.assert_allclose(problem.X, own.X, rtol=1e-9)
    np.testing.assert_allclose(problem.ridge, own.ridge, rtol=1e-9)


def test_without_a_penalty_the_coordinates_are_whitened():
    data = samples()
    shared = SharedCoordinates.of(data, "norm", 0.0)
    problem, _ = shared.problem((2, 2), 0.0, "hinge")
    assert not problem.ridge.any()
    covariance = (problem.X.T * data.weight) @ problem.X / data.weight.sum()
    np.testing.assert_allclose(covariance, np.eye(6), atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", ["norm", "variance"])
def test_warm_starts_reach_the_objectives_of_cold_ones(penalty, loss):
    """In the mean over alphas, within 5 %: neither start is always the better one."""
    data, alphas = samples(400), (0.01, 0.1, 1.0, 10.0, 100.0)
    shared = SharedCoordinates.of(data, penalty, alphas[0])
    ratios = []
    solutions = list(follow(shared, (5, 5), alphas, np.random.default_rng(0), loss=loss, tol=1e-3))
    assert len(solutions) == 5
    for alpha, solution in zip(alphas, solutions):
        problem, _ = shared.problem((5, 5), alpha, loss)
        cold = Anneal().solve(problem, quick_kmeans(problem, np.random.default_rng(0)))
        ratios.append(solution.objective / cold.objective)
    assert np.mean(ratios) < 1.05


def test_a_linear_path_of_the_hinge_is_solved_exactly():
    data, alphas = samples(), (1e-4, 1.0)
    shared = SharedCoordinates.of(data, "norm", alphas[0])
    solutions = list(follow(shared, (1, 1), alphas, np.random.default_rng(0), loss="hinge", tol=1e-2))
    assert len(solutions) == 2
    for alpha, solution in zip(alphas, solutions):
        problem, _ = shared.problem((1, 1), alpha, "hinge")
        start = np.zeros(problem.pieces.n_parameters)
        assert solution.objective == pytest.approx(Anneal().solve(problem, start).objective, rel=1e-6)


def test_max_iter_limits_every_alpha():
    data = samples()
    shared = SharedCoordinates.of(data, "norm", 0.1)
    rng = np.random.default_rng(0)
    solutions = list(follow(shared, (4, 4), (0.1, 1.0), rng, loss="hinge", tol=1e-9, max_iter=12))
    assert len(solutions) == 2
    for solution in solutions:
        assert solution.n_iter <= 12
        assert not solution.converged
