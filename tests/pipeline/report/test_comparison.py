"""Comparisons over data sets and over the folds of one, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from ldep_pipeline.report import comparison
from ldep_pipeline.report.comparison import bayesian_signed_rank
from tests.support import own_reported, reported

GOOD, SIMILAR, BAD = [0.90, 0.91, 0.92, 0.90, 0.91], [0.91, 0.90, 0.91, 0.91, 0.90], [0.70, 0.71, 0.72, 0.70, 0.69]


def test_ranks_and_friedmans_statistic():
    datasets = {name: {"a": [0.9, 0.9], "b": [0.8, 0.8], "c": [0.7, 0.8]} for name in ("one", "two", "three")}
    datasets["four"] = {"a": [0.9, 0.9], "b": [0.9, 0.9], "c": [0.5, 0.5]}
    ranks = comparison.ranks(reported.accuracies_of(datasets))
    assert ranks is not None
    assert ranks.mean.to_dict() == {"a": 1.125, "b": 1.875, "c": 3.0}
    # With its correction for the one tie of two: (12 / (4 * 3 * 4) * 52.25 - 48) / (1 - 6 / 96)
    sums = np.array([4.5, 7.5, 12.0])
    plain = 12 / (4 * 3 * 4) * (sums**2).sum() - 3 * 4 * 4
    assert ranks.statistic == pytest.approx(plain / (1 - 6 / (4 * 3 * 8)))
    # The quantile for three models in Demšar's table.
    assert ranks.critical_difference == pytest.approx(2.343701 * np.sqrt(3 * 4 / (6 * 4)), rel=1e-4)


def test_one_data_set_has_no_ranks():
    assert comparison.ranks(reported.accuracies_of({"one": {"a": [0.9], "b": [0.8], "c": [0.7]}})) is None


def test_a_model_that_wins_everywhere_is_better_with_an_exact_p():
    datasets = {f"s{i}": {"ldep": [0.9 + 0.001 * i] * 2, "mlp": [0.8] * 2, "forest": [0.9] * 2} for i in range(1, 11)}
    mlp, forest = comparison.claims(reported.accuracies_of(datasets))
    assert (mlp.other, mlp.wins, mlp.ties, mlp.losses) == ("MLP", 10, 0, 0)
    assert mlp.p == pytest.approx(2 / 2**10)  # one of 1024 sign patterns, on two sides
    assert mlp.holm == pytest.approx(2 * mlp.p)
    assert mlp.verdict == forest.verdict == "better"


def test_three_data_sets_are_too_few_for_a_verdict():
    datasets = {f"s{i}": {"ldep": [0.9 + 0.001 * i] * 2, "mlp": [0.8] * 2} for i in range(3)}
    (claim,) = comparison.claims(reported.accuracies_of(datasets))
    assert claim.p == comparison.smallest_p(3) == 0.25
    assert claim.verdict == comparison.UNDECIDED


def test_models_that_hardly_differ_on_many_data_sets_are_practically_equal():
    """Wilcoxon's test can only fail to find a difference; the posterior can say that there is none that matters."""
    datasets = {f"s{i}": {"ldep": [0.9 + 0.001 * (-1) ** i] * 2, "mlp": [0.9] * 2} for i in range(12)}
    (claim,) = comparison.claims(reported.accuracies_of(datasets))
    assert claim.posterior.equal > 0.99
    assert claim.verdict == comparison.EQUAL


def test_holms_correction_is_that_of_his_paper_and_of_statsmodels():
    """In steps: 4 x 0.01, 3 x 0.02, then 2 x 0.022 = 0.044 < 0.06 keeps the value before, and 1 x 0.9."""
    assert comparison.holm(np.array([0.9, 0.02, 0.01, 0.022])) == pytest.approx([0.9, 0.06, 0.04, 0.06])
    assert comparison.holm(np.array([0.7, 0.8])).tolist() == [1.0, 1.0]
    p = np.random.default_rng(0).uniform(0, 0.2, 30)
    assert np.array_equal(comparison.holm(p), multipletests(p, method="holm")[1])


def test_a_model_that_loses_everywhere_is_worse():
    datasets = {f"s{i}": {"ldep": [0.5, 0.6], "mlp": [0.7 + 0.01 * i] * 2} for i in range(10)}
    assert [claim.verdict for claim in comparison.claims(reported.accuracies_of(datasets))] == ["worse"]


def test_wins_ties_and_losses_are_those_of_the_printed_means():
    tally = comparison.outcomes(reported.accuracies_of(reported.EXAMPLE))
    assert tally.loc["ldep", "ldep_cv"] == (0, 1, 2)
    assert tally.loc["ldep_cv", "ldep"] == (2, 1, 0)
    assert tally.loc["ldep", "<odd> & own"] == (0, 0, 1)


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


def test_a_clear_lead_is_told_from_a_small_one():
    report = own_reported.report({"good": GOOD, "similar": SIMILAR, "bad": BAD, "copy": GOOD})
    verdicts = {lead.other: lead.verdict for lead in report.comparisons}
    assert verdicts == {"similar": "no clear difference", "bad": "better", "copy": "equal in every fold"}
    bad = next(lead for lead in report.comparisons if lead.other == "bad")
    gains = np.subtract(GOOD, BAD)
    half = stats.t.ppf(1 - 0.05 / 3 / 2, 4) * np.std(gains, ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    assert bad.interval == pytest.approx((gains.mean() - half, gains.mean() + half))


def test_a_lead_that_is_the_same_in_every_fold_cannot_be_tested():
    report = own_reported.report({"a": [0.75, 0.5], "b": [0.5, 0.25]})
    [lead] = report.comparisons
    assert (lead.verdict, lead.interval, lead.wins) == ("not tested", None, 2)
