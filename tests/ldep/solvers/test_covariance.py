"""The running covariance is that of all rows together."""

import numpy as np

from ldep.solvers import RunningCovariance


def test_equals_the_covariance_of_all_rows_even_far_from_zero():
    rows = np.random.default_rng(0).normal(size=(1000, 3)) @ np.diag([1.0, 5.0, 0.1]) + 1e6
    running = RunningCovariance(3)
    for first in range(0, 1000, 170):
        running.add(rows[first : first + 170])
    running.add(rows[:0])
    assert running.count == 1000
    np.testing.assert_allclose(running.mean, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(running.covariance(np.ones(3)), np.cov(rows.T, bias=True), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(running.variance, rows.var(axis=0), rtol=1e-8)
