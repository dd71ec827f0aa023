"""Mini-batches of weighted samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

# An epoch shows a sample at most this often in the mean, however large the weights.
MOST_PASSES = 100


class Epochs:
    """Epochs in which sample k is shown about weight[k] times, in random order.

    With whole weights each sample is shown exactly so often: the epoch is that of the repeated samples. Other weights
    are rounded up or down at random (systematic resampling), to that mean. Weights whose mean is below 1, or so large
    that an epoch would never end, are scaled.
    """

    def __init__(self, weight: np.ndarray, batch_size: int, rng: np.random.Generator):
        m, total = len(weight), weight.sum()
        self.length = int(np.clip(np.rint(total), m, MOST_PASSES * m))
        self.batch_size = batch_size
        self.rng = rng
        self.bounds = np.cumsum(weight) * (self.length / total)

    def batches(self) -> Iterator[np.ndarray]:
        """The rows of each mini-batch of the next epoch."""
        marks = np.arange(self.length) + self.rng.random()
        rows = np.minimum(np.searchsorted(self.bounds, marks, side="right"), len(self.bounds) - 1)
        self.rng.shuffle(rows)
        for first in range(0, self.length, self.batch_size):
            yield rows[first : first + self.batch_size]
