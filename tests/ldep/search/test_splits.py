"""The sample on which many rows are searched, and how the settings share the splits of all rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldep.search import apportioned, sample_of_rows
from ldep.search._splits import SEARCH_ROWS
from ldep.training import Samples


def rows_of(counts, weight=None) -> Samples:
    y = np.repeat(np.arange(len(counts)), counts).astype(float)
    weight = np.ones(len(y)) if weight is None else weight
    return Samples(np.arange(len(y), dtype=float)[:, None], y, weight)


def test_each_class_has_its_share_and_at_least_a_row_per_fold():
    sample = sample_of_rows(rows_of([12_000, 7_990, 10]), 3, 5, seed=0)
    assert np.bincount(sample.y.astype(int)).tolist() == [3000, 1998, 5]
    assert len(np.unique(sample.X)) == len(sample.y)
    assert len(sample.y) == pytest.approx(SEARCH_ROWS, abs=5)


def test_a_class_with_fewer_rows_than_folds_is_in_the_sample_whole():
    sample = sample_of_rows(rows_of([10_000, 9_997, 3]), 3, 5, seed=0)
    assert (sample.y == 2).sum() == 3


def test_rows_without_weight_are_left_out():
    weight = np.where(np.arange(20_000) % 2, 2.0, 0.0)
    sample = sample_of_rows(rows_of([10_000, 5_000, 5_000], weight), 3, 5, seed=0)
    assert (sample.weight == 2.0).all()
    assert np.bincount(sample.y.astype(int)).tolist() == [2500, 1250, 1250]


def test_the_seed_decides_the_sample():
    one, same, other = (sample_of_rows(rows_of([9000, 9000, 9000]), 3, 5, seed).X for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


@pytest.mark.parametrize(
    ("shares", "winners"),
    [
        ([1.0, 0.0, 0.0], [0, 0, 0, 0, 0]),
        ([0.2, 0.5, 0.3], [1, 1, 1, 2, 0]),  # quotas 1, 2.5 and 1.5: of equal remainders the first
        ([0.1, 0.35, 0.55], [2, 2, 2, 1, 1]),
        ([0.25, 0.25, 0.25, 0.25], [0, 0, 1, 2, 3]),
    ],
)
def test_seats_go_by_largest_remainders_with_the_largest_share_first(shares, winners):
    assert sorted(apportioned(np.array(shares), 5)) == sorted(winners)
    assert apportioned(np.array(shares), 5)[0] == int(np.argmax(shares))


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8), st.integers(1, 9))
def test_every_seat_has_a_winner_whose_seats_differ_from_its_quota_by_less_than_one(shares, n_seats):
    seats = np.bincount(apportioned(np.array(shares), n_seats), minlength=len(shares))
    assert seats.sum() == n_seats
    quota = np.array(shares) / sum(shares) * n_seats
    assert (np.abs(seats - quota) < 1 + 1e-9).all()
