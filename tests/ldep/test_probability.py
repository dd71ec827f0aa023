"""The link from decision values to probabilities."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from ldep.probability import SMALLEST_SLOPE, fit_link, probabilities, vote_log_odds, votes_at


def sample(slope, intercept, m=20_000):
    rng = np.random.default_rng(0)
    values = rng.normal(0.0, 2.0, m)
    return values, np.where(rng.random(m) < expit(slope * values + intercept), 1.0, -1.0)


def test_the_link_recovers_the_parameters():
    """Within three standard errors, about 0.05."""
    values, y = sample(1.5, -0.7)
    np.testing.assert_allclose(fit_link(values, y, np.ones(len(y))), (1.5, -0.7), atol=0.08)


def test_without_ties_at_the_ends_it_is_logistic_regression():
    """Platt's targets differ from 0 and 1 by 1 / 10,000 here."""
    values, y = sample(0.8, 0.3)
    model = LogisticRegression(C=np.inf).fit(values[:, None], y)
    link = fit_link(values, y, np.ones(len(y)))
    np.testing.assert_allclose(link, (model.coef_[0, 0], model.intercept_[0]), atol=2e-3)


def test_a_weight_is_a_repetition():
    values, y = sample(1.0, 0.5, 200)
    weight = np.random.default_rng(1).integers(1, 4, 200)
    repeated = fit_link(np.repeat(values, weight), np.repeat(y, weight), np.ones(weight.sum()))
    np.testing.assert_allclose(fit_link(values, y, weight.astype(float)), repeated, rtol=1e-4)


def test_separated_classes_have_a_finite_slope():
    y = np.repeat([-1.0, 1.0], 10)
    slope, intercept = fit_link(y, y, np.ones(20))
    assert 0 < slope < 10
    assert probabilities(np.array([1.0]), slope, intercept)[0, 1] == pytest.approx(11 / 12, abs=1e-3)


def test_the_slope_is_positive_where_the_values_mislead():
    values, y = sample(1.0, 0.0, 500)
    assert fit_link(-values, y, np.ones(500))[0] == SMALLEST_SLOPE


def test_probabilities_sum_to_one_and_rise_with_the_value():
    table = probabilities(np.linspace(-800, 800, 9), 1.0, 0.2)
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    assert (np.diff(table[:, 1]) >= 0).all()


def test_vote_log_odds_are_finite_and_invertible():
    votes = np.linspace(-1, 1, 11)
    log_odds = vote_log_odds(votes)
    assert np.isfinite(log_odds).all()
    np.testing.assert_allclose([votes_at(value) for value in log_odds], votes, atol=1e-12)
