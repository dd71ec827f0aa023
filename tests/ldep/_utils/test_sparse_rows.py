"""Sparse rows with a common vector subtracted behave as the dense array does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ldep._utils import CentredRows, mean_and_variance
from ldep.training import LinearPieces

seeds = st.integers(0, 2**32 - 1)


def random_rows(seed: int) -> tuple[CentredRows, np.ndarray, np.random.Generator]:
    """Centred sparse rows, and the same rows as a dense array."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 12, 2)
    X = sparse.random_array((m, n), density=0.3, format="csr", rng=rng)
    shift = rng.normal(size=n)
    return CentredRows(X, shift), X.toarray() - shift, rng


@given(seeds)
def test_scores_and_pullback_are_those_of_the_dense_rows(seed):
    rows, dense, rng = random_rows(seed)
    pieces = LinearPieces((3, 2), dense.shape[1])
    theta, G = rng.normal(size=pieces.n_parameters), rng.normal(size=(5, len(dense)))
    scores = pieces.scores(theta, rows)
    assert scores.flags.c_contiguous
    np.testing.assert_allclose(scores, pieces.scores(theta, dense), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(pieces.pullback(G, rows), pieces.pullback(G, dense), rtol=1e-12, atol=1e-12)


@given(seeds)
def test_selecting_scaling_and_rounding_are_those_of_the_dense_rows(seed):
    rows, dense, rng = random_rows(seed)
    mask, scale = rng.random(len(dense)) < 0.5, rng.uniform(0.5, 2.0, dense.shape[1])
    assert len(rows) == len(dense)
    assert rows.shape == dense.shape
    assert rows[:] is rows
    for part in (mask, slice(1, 4), rng.integers(0, len(dense), 3)):
        np.testing.assert_array_equal(rows[part].toarray(), dense[part])
    np.testing.assert_allclose((rows * scale).toarray(), dense * scale, rtol=1e-12, atol=1e-12)
    single = rows.astype(np.float32)
    assert single.dtype == np.float32
    assert pieces_dtype(single) == np.float32
    np.testing.assert_allclose(single.toarray(), dense, rtol=1e-5, atol=1e-5)


def pieces_dtype(rows: CentredRows) -> np.dtype:
    pieces = LinearPieces((1, 1), rows.shape[1])
    return pieces.scores(np.zeros(pieces.n_parameters), rows).dtype


@given(seeds)
def test_mean_and_variance_are_those_of_the_dense_rows(seed):
    rows, _, rng = random_rows(seed)
    weight = rng.uniform(0.1, 2.0, len(rows))
    mean, variance = mean_and_variance(rows.matrix, weight)
    dense = rows.matrix.toarray()
    expected = np.average(dense, axis=0, weights=weight)
    np.testing.assert_allclose(mean, expected, rtol=1e-12, atol=1e-15)
    centred = np.square(dense - expected)
    np.testing.assert_allclose(variance, np.average(centred, axis=0, weights=weight), rtol=1e-12, atol=1e-15)


def test_a_full_column_with_a_large_offset_keeps_its_variance():
    """E[x^2] - E[x]^2 would lose every digit here."""
    column = np.array([1e9, 1e9 + 1, 1e9 + 2])
    _, variance = mean_and_variance(sparse.csr_array(column[:, None]), np.ones(3))
    assert variance[0] == pytest.approx(2 / 3)
