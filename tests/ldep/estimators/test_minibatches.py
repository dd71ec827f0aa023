"""Mini-batches: how often a sample of a given weight appears."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldep.estimators._maxout import MAX_PASSES, WeightedEpochs


def counts_of(epochs):
    """How often each sample appears in the next epoch."""
    return np.bincount(np.concatenate(list(epochs.batches())), minlength=len(epochs.cumulative_weight))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(0, 2**32 - 1))
def test_integer_weights_are_repetitions(weight, seed):
    epochs = WeightedEpochs(np.array(weight, dtype=float), 4, np.random.default_rng(seed))
    assert counts_of(epochs).tolist() == weight


def test_other_weights_are_right_on_average():
    """The mean of 4000 epochs; its standard error is below 0.01."""
    weight = np.array([0.5, 1.25, 2.0, 0.25])
    epochs = WeightedEpochs(weight, 4, np.random.default_rng(0))
    counts = np.array([counts_of(epochs) for _ in range(4000)])
    np.testing.assert_allclose(counts.mean(axis=0), weight, atol=0.03)
    assert (np.abs(counts - weight) < 1).all()


@pytest.mark.parametrize(("scale", "length"), [(1e-9, 5), (1.0, 5), (1e12, 5 * MAX_PASSES)])
def test_the_scale_of_the_weights_cannot_make_an_epoch_endless(scale, length):
    epochs = WeightedEpochs(np.full(5, scale), 3, np.random.default_rng(0))
    assert epochs.length == counts_of(epochs).sum() == length


def test_batches_have_their_size():
    epochs = WeightedEpochs(np.ones(10), 4, np.random.default_rng(0))
    assert [len(rows) for rows in epochs.batches()] == [4, 4, 2]
