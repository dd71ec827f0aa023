"""Merging the samples: a fit depends on them as a weighted set."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ldep.samples import merge

# Few distinct values, so that equal rows are common.
tables = arrays(
    np.float64, st.tuples(st.integers(2, 30), st.integers(1, 3)), elements=st.sampled_from([-1.0, 0.0, 2.5])
)


def two_signs(m: int) -> np.ndarray:
    return np.where(np.arange(m) % 2, 1.0, -1.0)


@given(tables, st.integers(0, 2**32 - 1))
def test_merged_rows_are_distinct_and_keep_the_total_weight(X, seed):
    y = two_signs(len(X))
    weight = np.random.default_rng(seed).integers(1, 5, len(X)).astype(float)
    merged = merge(X, y, weight)
    rows = np.column_stack([merged.X, merged.y])
    assert len(np.unique(rows, axis=0)) == len(rows)
    for row, total in zip(rows, merged.weight):
        same = (np.column_stack([X, y]) == row).all(axis=1)
        assert weight[same].sum() == total
    assert merged.weight.sum() == weight.sum()


@given(tables, st.integers(0, 2**32 - 1))
def test_merging_does_not_depend_on_the_order_of_the_rows(X, seed):
    y = two_signs(len(X))
    order = np.random.default_rng(seed).permutation(len(X))
    weight = np.ones(len(X))
    for one, other in zip(merge(X, y, weight), merge(X[order], y[order], weight)):
        np.testing.assert_array_equal(one, other)
