"""Ranks and tests over the data sets, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.reporting import significance
from tests.support import reported


def test_ranks_and_friedmans_statistic():
    datasets = {name: {"a": [0.9, 0.9], "b": [0.8, 0.8], "c": [0.7, 0.8]} for name in ("one", "two", "three")}
    datasets["four"] = {"a": [0.9, 0.9], "b": [0.9, 0.9], "c": [0.5, 0.5]}
    ranks = significance.ranks(reported.accuracies_of(datasets))
    assert ranks is not None
    assert ranks.mean.to_dict() == {"a": 1.125, "b": 1.875, "c": 3.0}
    # With its correction for the one tie of two: (12 / (4 * 3 * 4) * 52.25 - 48) / (1 - 6 / 96)
    sums = np.array([4.5, 7.5, 12.0])
    plain = 12 / (4 * 3 * 4) * (sums**2).sum() - 3 * 4 * 4
    assert ranks.statistic == pytest.approx(plain / (1 - 6 / (4 * 3 * 8)))
    # The quantile for three models in Demšar's table.
    assert ranks.critical_difference == pytest.approx(2.343701 * np.sqrt(3 * 4 / (6 * 4)), rel=1e-4)


def test_one_data_set_has_no_ranks():
    assert significance.ranks(reported.accuracies_of({"one": {"a": [0.9], "b": [0.8], "c": [0.7]}})) is None


def test_a_model_that_wins_everywhere_is_better_with_an_exact_p():
    datasets = {f"s{i}": {"ldep": [0.9 + 0.001 * i] * 2, "mlp": [0.8] * 2, "forest": [0.9] * 2} for i in range(1, 11)}
    mlp, forest = significance.claims(reported.accuracies_of(datasets))
    assert (mlp.other, mlp.wins, mlp.ties, mlp.losses) == ("MLP", 10, 0, 0)
    assert mlp.p == pytest.approx(2 / 2**10)  # one of 1024 sign patterns, on two sides
    assert mlp.holm == pytest.approx(2 * mlp.p)
    assert mlp.verdict == forest.verdict == "better"


def test_three_data_sets_are_too_few_for_a_verdict():
    datasets = {f"s{i}": {"ldep": [0.9 + 0.001 * i] * 2, "mlp": [0.8] * 2} for i in range(3)}
    (claim,) = significance.claims(reported.accuracies_of(datasets))
    assert claim.p == significance.smallest_p(3) == 0.25
    assert claim.verdict == significance.UNDECIDED


def test_models_that_hardly_differ_on_many_data_sets_are_practically_equal():
    """Wilcoxon's test can only fail to find a difference; the posterior can say that there is none that matters."""
    datasets = {f"s{i}": {"ldep": [0.9 + 0.001 * (-1) ** i] * 2, "mlp": [0.9] * 2} for i in range(12)}
    (claim,) = significance.claims(reported.accuracies_of(datasets))
    assert claim.posterior.equal > 0.99
    assert claim.verdict == significance.EQUAL


def test_a_model_that_loses_everywhere_is_worse():
    datasets = {f"s{i}": {"ldep": [0.5, 0.6], "mlp": [0.7 + 0.01 * i] * 2} for i in range(10)}
    assert [claim.verdict for claim in significance.claims(reported.accuracies_of(datasets))] == ["worse"]


def test_wins_ties_and_losses_are_those_of_the_printed_means():
    tally = significance.outcomes(reported.accuracies_of(reported.EXAMPLE))
    assert tally.loc["ldep", "ldep_cv"] == (0, 1, 2)
    assert tally.loc["ldep_cv", "ldep"] == (2, 1, 0)
    assert tally.loc["ldep", "<odd> & own"] == (0, 0, 1)
