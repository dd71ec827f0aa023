"""Merging the samples: a fit depends on them as a weighted set."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from ldep.training import check_weights, merge

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


def assert_order_does_not_matter(X, y, weight, seed):
    order = np.random.default_rng(seed).permutation(len(X))
    for one, other in zip(merge(X, y, weight), merge(X[order], y[order], weight[order])):
        np.testing.assert_array_equal(one, other)
        assert not np.signbit(one[one == 0]).any()


@given(tables, st.integers(0, 2**32 - 1))
def test_merging_does_not_depend_on_the_order_of_the_rows(X, seed):
    """Neither with weights of 1, nor with floats whose sums depend on the order in which they are added."""
    for weight in (np.ones(len(X)), np.random.default_rng(seed).uniform(1e-8, 1e8, len(X))):
        assert_order_does_not_matter(X, two_signs(len(X)), weight, seed)


@given(st.integers(0, 2**32 - 1))
def test_a_column_that_hides_the_others_does_not_make_the_order_matter(seed):
    """Beside 1e18 the other columns are lost in the key by which rows are sorted."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.full(30, 1e18), rng.normal(size=(30, 2))])
    assert_order_does_not_matter(X, two_signs(30), rng.uniform(size=30), seed)


def test_plus_and_minus_zero_are_one_row():
    X = np.array([[0.0], [-0.0], [1.0]])
    for rows in ([0, 1, 2], [1, 0, 2]):
        merged = merge(X[rows], np.ones(3), np.ones(3))
        assert merged.weight.tolist() == [2.0, 1.0]
        assert not np.signbit(merged.X).any()


@given(st.floats(1e-3, 1e3), st.integers(2, 20))
def test_a_row_that_stands_k_times_weighs_k_times_as_much_to_the_bit(weight, k):
    merged = merge(np.zeros((k, 1)), np.ones(k), np.full(k, weight))
    assert merged.weight.tolist() == [k * weight]


def test_balanced_classes_have_the_same_total_weight():
    y, weight = np.array([0, 0, 0, 1, 1]), np.array([1.0, 2.0, 3.0, 0.5, 0.0])
    balanced = check_weights(weight, y, "balanced")
    totals = [balanced[y == 0].sum(), balanced[y == 1].sum()]
    np.testing.assert_allclose(totals, weight.sum() / 2, rtol=1e-11)  # the factors have 40 bits


@given(st.lists(st.integers(1, 5), min_size=4, max_size=12))
def test_balanced_weights_count_a_weight_as_a_repetition(repeats):
    y = np.arange(len(repeats)) % 2
    weighted = check_weights(np.array(repeats, dtype=float), y, "balanced")
    repeated = check_weights(None, np.repeat(y, repeats), "balanced")
    np.testing.assert_array_equal(weighted, repeated[np.cumsum(repeats) - 1] * repeats)


@given(tables, st.integers(0, 2**32 - 1))
def test_sparse_rows_are_merged_as_dense_ones_are(X, seed):
    """Up to the order of the rows, with explicit zeros among the stored entries."""
    y, rng = two_signs(len(X)), np.random.default_rng(seed)
    weight = rng.uniform(0.1, 2.0, len(X)) * rng.integers(0, 2, len(X)) + (np.arange(len(X)) < 2)
    stored = sparse.coo_array(np.ones(X.shape)).tocsr()
    stored.data = X.ravel().copy()
    before = stored.copy()
    dense, merged = merge(X, y, weight), merge(stored, y, weight)
    assert merged.X.nnz == np.count_nonzero(merged.X.toarray())
    np.testing.assert_array_equal(sorted_rows(merged), sorted_rows(dense))
    assert stored.nnz == before.nnz  # the user's matrix is left alone


@given(tables, st.integers(0, 2**32 - 1))
def test_merging_sparse_rows_does_not_depend_on_their_order(X, seed):
    rng, y = np.random.default_rng(seed), two_signs(len(X))
    weight, order = rng.uniform(1e-8, 1e8, len(X)), rng.permutation(len(X))
    X = sparse.csr_array(X)
    one, other = merge(X, y, weight), merge(X[order], y[order], weight[order])
    np.testing.assert_array_equal(one.X.toarray(), other.X.toarray())
    np.testing.assert_array_equal(one.y, other.y)
    np.testing.assert_array_equal(one.weight, other.weight)


def sorted_rows(merged) -> np.ndarray:
    X = merged.X.toarray() if sparse.issparse(merged.X) else merged.X
    table = np.column_stack([X, merged.y, merged.weight])
    return table[np.lexsort(table.T)]
