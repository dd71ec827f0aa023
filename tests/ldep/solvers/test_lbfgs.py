"""L-BFGS: the minimum of smooth functions, of functions with kinks, and within bounds."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from ldep.solvers._lbfgs import Curvature, minimize


def test_finds_the_minimum_of_a_curved_valley():
    x = minimize(lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0]), max_iter=200)
    np.testing.assert_allclose(x, 1.0, atol=1e-5)


def test_descends_on_a_function_with_kinks():
    scale = np.arange(1.0, 9.0)
    start = np.linspace(-2.0, 3.0, 8)
    x = minimize(lambda x: (np.abs(x) @ scale, np.sign(x) * scale), start, max_iter=300)
    # No method of this kind promises more: the memory of past gradients misleads it at a kink.
    assert np.abs(x) @ scale < 0.05 * np.abs(start) @ scale


def test_stays_within_bounds_and_moves_along_them():
    target = np.array([2.0, -1.0, 0.3])
    bounds = np.array([0.0, -np.inf, -np.inf]), np.array([1.0, np.inf, np.inf])
    seen = []

    def function(x):
        seen.append(x)
        return float(np.square(x - target).sum()), 2 * (x - target)

    x = minimize(function, np.array([0.5, 0.5, 0.5]), max_iter=50, bounds=bounds)
    np.testing.assert_allclose(x, [1.0, -1.0, 0.3], atol=1e-6)
    assert all(0.0 <= point[0] <= 1.0 for point in seen)


def test_ends_where_nothing_is_lower():
    calls = []

    def function(x):
        calls.append(x)
        return float(x @ x), 2 * x

    minimize(function, np.array([1.0, 2.0]), max_iter=1000)
    assert len(calls) < 20


def test_a_change_of_the_gradient_whose_square_underflows_is_ignored():
    """A penalty of 1e-300 makes such changes. Dividing by the square was a ZeroDivisionError."""
    curvature = Curvature(2, memory=5)
    curvature.add(np.ones(2), np.full(2, 1e-170))
    assert curvature.count == 0


def test_ends_when_after_returns_true():
    values = []

    def after(value):
        values.append(value)
        return len(values) == 3

    minimize(lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0]), max_iter=200, after=after)
    assert len(values) == 3
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("pairs", [1, 3, 8])
def test_the_compact_form_is_the_product_of_updates(pairs):
    """H from the recursion H <- (I - rho s y^T) H (I - rho y s^T) + rho s s^T over the last five pairs."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    A = A @ A.T + np.eye(6)
    curved = Curvature(6, memory=5)
    history = []
    for _ in range(pairs):
        s = rng.normal(size=6)
        curved.add(s, A @ s)
        history.append((s, A @ s))
    s, y = history[-1]
    H = np.eye(6) * (s @ y) / (y @ y)
    for s, y in history[-5:]:
        rho = 1 / (s @ y)
        V = np.eye(6) - rho * np.outer(y, s)
        H = V.T @ H @ V + rho * np.outer(s, s)
    g = rng.normal(size=6)
    np.testing.assert_allclose(curved.solve(g, None), H @ g, rtol=1e-8)
