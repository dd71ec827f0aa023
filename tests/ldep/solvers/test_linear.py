"""The convex case: the linear SVC."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from ldep.solvers import Ccp, solve_linear
from ldep.training import Samples, condition


def problem(alpha, m=120, n=5, flip=0.1, duplicate=False):
    X, y = make_classification(m, n, n_informative=3, n_redundant=0, flip_y=flip, random_state=3)
    if duplicate:
        X = np.column_stack([X, X[:, :1]])
    weight = np.random.default_rng(0).uniform(0.5, 2.0, m)
    return condition(Samples(X, 2.0 * y - 1.0, weight), (1, 1), alpha)[0]


@pytest.mark.parametrize("alpha", [0.0, 1e-6, 0.1, 10.0])
@pytest.mark.parametrize("duplicate", [False, True])
def test_the_objective_is_that_of_the_convex_concave_procedure(alpha, duplicate):
    """Its first subproblem is the whole problem."""
    data = problem(alpha, duplicate=duplicate)
    theta, _, converged = solve_linear(data)
    exact = Ccp().solve(data, np.zeros(data.pieces.n_parameters))
    assert converged
    assert data.objective(theta) == pytest.approx(exact.objective, rel=1e-6)


def test_it_is_the_linear_svc():
    """C = 2 / alpha; both solve the same problem to about 1e-4."""
    data = problem(0.5)
    theta, _, _ = solve_linear(data)
    # In conditioned coordinates each direction has its own penalty: with unit penalties they are the SVC's.
    scaled = data.X / np.sqrt(data.ridge / 0.5)
    model = SVC(kernel="linear", C=4.0, tol=1e-8).fit(scaled, data.y, sample_weight=data.weight)
    np.testing.assert_allclose(data.y * data.margins(theta), model.decision_function(scaled), atol=1e-3)


def test_separable_data_reach_zero():
    data = problem(0.0, flip=0.0)
    data.X[:, 0] += 10 * data.y
    theta, _, converged = solve_linear(data)
    assert converged
    assert data.objective(theta) < 1e-5


def test_too_few_steps_are_reported():
    _, n_steps, converged = solve_linear(problem(1.0), max_steps=2)
    assert n_steps == 2
    assert not converged
