"""The limits of prediction sets: ranks of scores, weights, classes, and coverages that the rows are too few for."""

import numpy as np
import pytest

from ldep.model import SetLimits, class_scores


def limits_of(scores, own=None, n_classes=2, **options) -> SetLimits:
    """The limits from rows of which the scores of their own classes are given."""
    own = np.zeros(len(scores), dtype=int) if own is None else np.asarray(own)
    scores = np.asarray(scores, dtype=float)
    if n_classes == 2:
        return SetLimits.of(np.where(own == 0, scores, -scores), own, **options)
    table = np.zeros((len(scores), n_classes))
    table[np.arange(len(scores)), own] = -scores
    return SetLimits.of(table, own, **options)


def test_the_score_is_the_lead_of_the_best_other_class():
    scores = class_scores(np.array([[3.0, 1.0, 2.0], [0.0, 0.0, -1.0]]))
    np.testing.assert_array_equal(scores, [[-1.0, 2.0, 1.0], [0.0, 0.0, 1.0]])


def test_with_two_classes_it_is_the_decision_value_and_its_negative():
    np.testing.assert_array_equal(class_scores(np.array([0.5, -2.0])), [[0.5, -0.5], [-2.0, 2.0]])


@pytest.mark.parametrize(("coverage", "rank"), [(0.8, 80), (0.9, 90), (0.901, 91), (0.95, 95), (0.989, 99), (0.01, 1)])
def test_the_limit_is_the_score_of_rank_coverage_times_rows_plus_one(coverage, rank):
    scores = np.random.default_rng(0).permutation(99) + 1.0
    assert (limits_of(scores).at(coverage) == rank).all()


def test_a_coverage_between_two_thousandths_gets_the_higher_one():
    limits = limits_of(np.arange(1.0, 2000.0))
    assert limits.at(0.9001)[0] == limits.at(0.901)[0] > limits.at(0.9)[0]


def test_too_few_rows_for_a_coverage_leave_no_class_out():
    limits = limits_of(np.arange(8.0))
    assert np.isfinite(limits.at(0.88)).all()
    assert (limits.at(0.9) == np.inf).all()


def test_each_class_has_the_limit_of_its_own_rows():
    own = np.repeat([0, 1], 99)
    limits = limits_of(np.append(np.arange(1.0, 100.0), np.arange(101.0, 200.0)), own)
    np.testing.assert_array_equal(limits.at(0.9, classwise=True), [90.0, 190.0])
    assert (limits.at(0.5) == 101.0).all()  # the rank 99.5 of all rows


def test_a_class_without_rows_is_always_possible():
    limits = limits_of(np.arange(50.0), n_classes=3)
    np.testing.assert_array_equal(np.isinf(limits.at(0.9, classwise=True)), [False, True, True])


def test_the_scale_of_weights_does_not_count_and_rows_without_weight_are_left_out():
    scores = np.random.default_rng(1).normal(size=60)
    weight = np.where(np.arange(60) < 40, 1.0, 0.0)
    expected = limits_of(scores[:40]).overall
    np.testing.assert_array_equal(limits_of(scores, weight=weight).overall, expected)
    np.testing.assert_array_equal(limits_of(scores, weight=8 * weight).overall, expected)


def test_merged_rows_count_as_often_as_they_are():
    scores = np.random.default_rng(2).normal(size=30)
    twice = limits_of(np.repeat(scores, 2)).overall
    np.testing.assert_array_equal(limits_of(scores, weight=np.full(30, 2.0), unit=1.0).overall, twice)


@pytest.mark.parametrize("coverage", [0, 1, 1.5, -0.1, True, "0.9", np.nan, 0.9995])
def test_a_coverage_that_cannot_be_is_refused(coverage):
    with pytest.raises(ValueError, match=r"above 0 and at most 0.999"):
        limits_of(np.arange(9.0)).at(coverage)
