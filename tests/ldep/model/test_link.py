"""The link from decision values to probabilities."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from ldep.model import Link, fit_decisions, fit_slope, fit_votes, leads, open_votes
from ldep.model._link import SMALLEST_SLOPE, vote_log_odds, votes_at


def sample(slope, intercept, m=20_000):
    rng = np.random.default_rng(0)
    values = rng.normal(0.0, 2.0, m)
    return values, (rng.random(m) < expit(slope * values + intercept)).astype(int)


def fit_plain(values, own, weight) -> Link:
    """The link that is logistic in the value itself."""
    return fit_decisions(values, own, weight, "identity")[0]


def parameters(link: Link) -> tuple[float, float]:
    """Slope and intercept of the log-odds of two classes."""
    return link.slope, link.intercepts[1] - link.intercepts[0]


class TestTwoClasses:
    def test_the_link_recovers_the_parameters(self):
        """Within three standard errors, about 0.05."""
        values, own = sample(1.5, -0.7)
        np.testing.assert_allclose(parameters(fit_plain(values, own, np.ones(len(own)))), (1.5, -0.7), atol=0.08)

    def test_without_ties_at_the_ends_it_is_logistic_regression(self):
        """Platt's targets differ from 0 and 1 by 1 / 10,000 here."""
        values, own = sample(0.8, 0.3)
        model = LogisticRegression(C=np.inf).fit(values[:, None], own)
        link = fit_plain(values, own, np.ones(len(own)))
        np.testing.assert_allclose(parameters(link), (model.coef_[0, 0], model.intercept_[0]), atol=2e-3)

    def test_a_weight_is_a_repetition(self):
        values, own = sample(1.0, 0.5, 200)
        weight = np.random.default_rng(1).integers(1, 4, 200)
        repeated = fit_plain(np.repeat(values, weight), np.repeat(own, weight), np.ones(weight.sum()))
        weighted = fit_plain(values, own, weight.astype(float))
        np.testing.assert_allclose(parameters(weighted), parameters(repeated), rtol=1e-4)

    def test_separated_classes_have_a_finite_slope(self):
        own = np.repeat([0, 1], 10)
        link = fit_plain(2.0 * own - 1.0, own, np.ones(20))
        assert 0 < link.slope < 10
        assert link.probabilities(np.array([1.0]))[0, 1] == pytest.approx(11 / 12, abs=1e-3)

    def test_the_slope_is_positive_where_the_values_mislead(self):
        values, own = sample(1.0, 0.0, 500)
        assert fit_plain(-values, own, np.ones(500)).slope == SMALLEST_SLOPE

    @pytest.mark.parametrize("fit", [fit_decisions, fit_votes])
    def test_at_the_threshold_both_classes_are_equally_likely(self, fit):
        rng = np.random.default_rng(2)
        own = rng.integers(0, 2, 400)
        values = np.tanh(rng.normal(0.4 + own, 1.0))
        link, threshold, *_ = fit(values, own, np.ones(400))
        np.testing.assert_allclose(link.probabilities(np.array([threshold])), [[0.5, 0.5]], atol=1e-9)

    def test_probabilities_sum_to_one_and_rise_with_the_value(self):
        table = Link("identity", 1.0, np.array([0.0, 0.2])).probabilities(np.linspace(-800, 800, 9))
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
        assert (np.diff(table[:, 1]) >= 0).all()

    def test_vote_log_odds_are_finite_and_invertible(self):
        votes = np.linspace(-1, 1, 11)
        log_odds = vote_log_odds(votes)
        assert np.isfinite(log_odds).all()
        np.testing.assert_allclose([votes_at(value) for value in log_odds], votes, atol=1e-12)


class TestLeads:
    def test_with_two_classes_they_are_those_of_either_class(self):
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
        table = np.exp(1.5 * values)
        cumulated = (table / table.sum(axis=1, keepdims=True)).cumsum(axis=1)
        own = (rng.random(20_000)[:, None] > cumulated).sum(axis=1)
        assert fit_slope(values, own, np.ones(20_000)) == pytest.approx(1.5, abs=0.06)

    def test_separated_classes_have_a_slope_that_stays_moderate(self):
        """Platt's targets: 11 / 13 for the own one of three classes with ten rows each."""
        own = np.repeat([0, 1, 2], 10)
        scores = 10.0 * np.eye(3)[own]
        link, _ = fit_decisions(scores, own, np.ones(30))
        np.testing.assert_allclose(link.probabilities(scores).max(axis=1), 11 / 13, atol=1e-3)


RNG = np.random.default_rng(0)


def draw(n_classes, slope, intercepts, m=4000):
    """Votes, and classes with the probabilities of a link."""
    votes = RNG.dirichlet(np.full(n_classes, 0.5), m)
    table = Link("log_shares", slope, np.array(intercepts)).probabilities(open_votes(votes))
    return votes, (table.cumsum(axis=1) < RNG.uniform(size=(m, 1))).sum(axis=1)


class TestSharedVotes:
    def test_the_link_of_the_data_is_recovered(self):
        """To about three standard errors."""
        votes, own = draw(3, 0.8, [0.5, 0.0, -0.5])
        link, _, _ = fit_votes(votes, own, np.ones(len(own)))
        assert link.slope == pytest.approx(0.8, abs=0.1)
        np.testing.assert_allclose(link.intercepts, [0.5, 0.0, -0.5], atol=0.15)

    def test_for_two_classes_it_is_the_link_of_two_classes(self):
        """Tolerance: where the two optimisers stop."""
        votes, own = draw(2, 0.7, [0.3, -0.3], m=500)
        weight, sides = RNG.uniform(0.5, 2.0, 500), 2 * votes[:, 1] - 1
        as_many, as_two = fit_votes(votes, own, weight)[0], fit_votes(sides, own, weight)[0]
        np.testing.assert_allclose(as_many.probabilities(open_votes(votes)), as_two.probabilities(sides), atol=1e-3)

    def test_a_weight_is_a_repetition(self):
        votes, own = draw(3, 1.0, [0.0, 0.0, 0.0], m=200)
        weight = RNG.integers(1, 4, 200)
        again = np.repeat(np.arange(200), weight)
        weighted = fit_votes(votes, own, weight.astype(float))[0]
        repeated = fit_votes(votes[again], own[again], np.ones(len(again)))[0]
        np.testing.assert_allclose(weighted.intercepts, repeated.intercepts, atol=1e-6)
        assert weighted.slope == pytest.approx(repeated.slope, abs=1e-6)

    def test_votes_that_are_always_right_give_finite_probabilities(self):
        own = np.arange(30) % 3
        votes = np.eye(3)[own]
        table = fit_votes(votes, own, np.ones(30))[0].probabilities(open_votes(votes))
        assert 0.8 < table.max() < 1.0

    @pytest.mark.parametrize("informative", [True, False])
    def test_the_largest_decision_value_is_the_largest_probability(self, informative):
        """Also where the votes count for next to nothing and the factors are far apart."""
        votes, own = draw(3, 0.9, [0.4, -0.1, -0.3], m=500)
        if not informative:
            own = np.minimum(RNG.permutation(500) // 100, 2)
        link, _, factors = fit_votes(votes, own, np.ones(500))
        opened = open_votes(votes)
        np.testing.assert_array_equal((factors * opened).argmax(1), link.probabilities(opened).argmax(1))
