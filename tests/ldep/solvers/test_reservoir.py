"""The reservoir is a uniform sample of all rows."""

import numpy as np

from ldep.solvers import Reservoir


def test_the_sample_is_uniform_and_does_not_depend_on_the_batches():
    numbers, counts = np.arange(1000.0)[:, None], np.zeros(1000)
    for seed in range(400):
        whole, parts = Reservoir(50, seed), Reservoir(50, seed)
        whole.add(numbers, numbers[:, 0])
        for first in range(0, 1000, 37):
            parts.add(numbers[first : first + 37], numbers[first : first + 37, 0])
        np.testing.assert_array_equal(np.sort(whole.y), np.sort(parts.y))
        np.testing.assert_array_equal(parts.X[:, 0], parts.y)
        assert len(np.unique(parts.y)) == 50
        counts[parts.y.astype(int)] += 1
    # 400 draws of one in 20: 20 each, with a deviation of 4.4. Blocks of 100 rows: 2,000 with one of 42.
    assert np.abs(counts.reshape(10, 100).sum(axis=1) - 2000).max() < 5 * 42
    assert counts.max() < 20 + 6 * 4.4
