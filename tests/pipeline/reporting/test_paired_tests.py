"""The corrected t-test and the Bayesian signed-rank test, against formulas and published figures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pipeline.reporting.paired_tests import bayesian_signed_rank, corrected_resampled_t_test


def test_without_overlap_it_is_the_paired_t_test():
    differences = np.random.default_rng(0).normal(0.5, 1.0, 12)
    result = corrected_resampled_t_test(differences, test_share=0.0)
    reference = stats.ttest_1samp(differences, 0.0)
    assert result.p == pytest.approx(reference.pvalue)
    assert (result.low, result.high) == pytest.approx(tuple(reference.confidence_interval(0.95)))


def test_overlapping_training_parts_widen_the_interval():
    """Ten times five folds: the variance is multiplied by 1/50 + 1/4 instead of 1/50."""
    differences = np.random.default_rng(0).normal(0.5, 1.0, 50)
    plain, corrected = (corrected_resampled_t_test(differences, share) for share in (0.0, 0.25))
    assert (corrected.high - corrected.mean) / (plain.high - plain.mean) == pytest.approx(np.sqrt(1 + 50 / 4))
    assert corrected.p > plain.p


def test_equal_scores_on_all_folds_are_no_difference():
    assert corrected_resampled_t_test(np.zeros(5), 0.25).p == 1.0
    assert corrected_resampled_t_test(np.full(5, 0.1), 0.25).p == 0.0
    assert corrected_resampled_t_test(np.array([0.3]), 0.25).p == 1.0


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
