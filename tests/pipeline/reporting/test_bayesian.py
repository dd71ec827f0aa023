"""The Bayesian signed-rank test, against a closed form and clear cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pipeline.reporting.bayesian import bayesian_signed_rank


def test_the_posterior_says_better_worse_and_equal():
    rng = np.random.default_rng(1)
    better = bayesian_signed_rank(rng.normal(3.0, 1.0, 30), rope=1.0)
    assert better.better > 0.99
    worse = bayesian_signed_rank(-rng.normal(3.0, 1.0, 30), rope=1.0)
    assert worse.worse > 0.99
    equal = bayesian_signed_rank(rng.normal(0.0, 0.2, 30), rope=1.0)
    assert equal.equal > 0.99
    assert better.worse + better.equal + better.better == pytest.approx(1.0)


def test_one_data_set_is_decided_by_a_beta_distribution():
    """With one difference above the region, `better` needs a weight v with v^2 + 2 v (1 - v) or v^2 above one half."""
    far = bayesian_signed_rank(np.array([10.0]), rope=1.0)  # the mean with the pseudo-observation, 5, is above it too
    assert far.better == pytest.approx(stats.beta.sf(1 - np.sqrt(0.5), 1.0, 0.5), abs=0.01)
    near = bayesian_signed_rank(np.array([1.5]), rope=1.0)  # 0.75 is inside it
    assert near.better == pytest.approx(stats.beta.sf(np.sqrt(0.5), 1.0, 0.5), abs=0.01)
