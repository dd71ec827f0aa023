"""L-BFGS: the minimum of smooth functions, of functions with kinks, and within bounds."""

import numpy as np
from scipy.optimize import rosen, rosen_der

from ldep.solvers._smoothing import minimize


def test_finds_the_minimum_of_a_curved_valley():
    x = minimize(lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0]), max_iter=200)
    np.testing.assert_allclose(x, 1.0, atol=1e-5)


def test_descends_on_a_function_with_kinks():
    scale = np.arange(1.0, 9.0)
    start = np.linspace(-2.0, 3.0, 8)
    x = minimize(lambda x: (np.abs(x) @ scale, np.sign(x) * scale), start, max_iter=300)
    # No method of this kind promises more: the memory of past gradients misleads it at a kink.
    assert np.abs(x) @ scale < 0.25 * np.abs(start) @ scale


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


def test_a_step_to_where_the_function_is_no_number_is_shortened():
    """Scores overflow on a long step. The descent goes on with a shorter one."""
    outside = []

    def function(x):
        if x[0] <= 0.0:
            outside.append(x)
            return np.nan, np.full(1, np.nan)
        return float(x[0] - np.log(x[0])), 1.0 - 1.0 / x

    x = minimize(function, np.array([10.0]), max_iter=100)
    np.testing.assert_allclose(x, 1.0, atol=1e-4)
    assert outside


def test_ends_when_after_returns_true():
    values = []

    def after(value):
        values.append(value)
        return len(values) == 3

    minimize(lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0]), max_iter=200, after=after)
    assert len(values) == 3
    assert values == sorted(values, reverse=True)
