"""The link from decision values to probabilities."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from ldep.probability import (
    SMALLEST_SLOPE,
    class_probabilities,
    fit_link,
    fit_slope,
    leads,
    probabilities,
    vote_log_odds,
    votes_at,
)


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


class TestSeveralClasses:
    def test_with_two_classes_the_leads_are_those_of_either_class(self):
        values = leads(np.array([-2.0, 0.5]))
        np.testing.assert_allclose(values, np.arcsinh([[2.0, -2.0], [-0.5, 0.5]]))

    def test_a_lead_is_over_the_best_of_the_others(self):
        values = leads(np.array([[3.0, 1.0, -1.0], [2.0, 2.0, 0.0]]))
        np.testing.assert_allclose(values, np.arcsinh([[2.0, -2.0, -4.0], [0.0, 0.0, -2.0]]))

    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_the_slope_is_recovered(self, n_classes):
        """Within three standard errors, about 0.02."""
        rng = np.random.default_rng(0)
        values = rng.normal(size=(20_000, n_classes))
        cumulated = class_probabilities(values, 1.5).cumsum(axis=1)
        own = (rng.random(20_000)[:, None] > cumulated).sum(axis=1)
        assert fit_slope(values, own, np.ones(20_000)) == pytest.approx(1.5, abs=0.06)

    def test_separated_classes_have_a_slope_that_stays_moderate(self):
        """Platt's targets: 11 / 13 for the own one of three classes with ten rows each."""
        own = np.repeat([0, 1, 2], 10)
        values = leads(10.0 * np.eye(3)[own])
        largest = class_probabilities(values, fit_slope(values, own, np.ones(30))).max(axis=1)
        np.testing.assert_allclose(largest, 11 / 13, atol=1e-3)
