"""Mini-batches of weighted samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

# An epoch shows a sample at most this often on average, however large the weights.
MAX_PASSES = 100


class WeightedEpochs:
    """Epochs in which sample k appears about weight[k] times, in random order.

    With integer weights each sample appears exactly that often: the epoch is that of the repeated samples. Other
    weights are rounded up or down at random (systematic resampling), so that their mean is right. Weights whose mean is
    below 1, or so large that an epoch would never end, are rescaled.

    Parameters
    ----------
    weight : ndarray of shape (n_samples,)
        Weights of the samples.
    batch_size : int
        Samples per mini-batch.
    rng : numpy.random.Generator
        Source of the order and of the rounding.
    """

    def __init__(self, weight: np.ndarray, batch_size: int, rng: np.random.Generator):
        m, total = len(weight), weight.sum()
        self.length = int(np.clip(np.rint(total), m, MAX_PASSES * m))
        self.batch_size = batch_size
        self.rng = rng
        self.cumulative_weight = np.cumsum(weight) * (self.length / total)

    def batches(self) -> Iterator[np.ndarray]:
        """Draw the next epoch, and iterate over the row numbers of its mini-batches."""
        marks = np.arange(self.length) + self.rng.random()
        rows = np.searchsorted(self.cumulative_weight, marks, side="right")
        rows = np.minimum(rows, len(self.cumulative_weight) - 1)
        self.rng.shuffle(rows)
        for first in range(0, self.length, self.batch_size):
            yield rows[first : first + self.batch_size]
