"""A uniform sample of rows that arrive in batches, in bounded memory."""

from __future__ import annotations

import numpy as np


class Reservoir:
    """Uniform sample without replacement: each row draws a random key, and the `size` smallest keys stay.

    The k-th row of the stream draws the k-th number of the generator, however the rows are cut into batches. The sample
    therefore depends on the seed and on the order of the rows alone. The unweighted case of [1]_.

    Parameters
    ----------
    size : int
        Largest number of rows in the sample.
    seed : int
        Seed of the keys.

    References
    ----------
    .. [1] P. S. Efraimidis and P. G. Spirakis, "Weighted random sampling with a reservoir", Information Processing
       Letters 97 (2006), 181-185.
    """

    def __init__(self, size: int, seed: int):
        self.size, self.seed = size, seed
        self.seen = 0
        self.X, self.y, self.key = np.empty((0, 0)), np.empty(0), np.empty(0)

    def add(self, X: np.ndarray, y: np.ndarray) -> None:
        """Add a batch of rows."""
        bits = np.random.PCG64(self.seed)
        bits.advance(self.seen)
        key = np.random.Generator(bits).random(len(X))
        self.seen += len(X)
        if len(self.key) == self.size:
            below = key < self.key.max()
            X, y, key = X[below], y[below], key[below]
        if not len(self.key):
            self.X, self.y, self.key = X.copy(), y.copy(), key
        elif len(key):
            self.X = np.concatenate([self.X, X])
            self.y = np.concatenate([self.y, y])
            self.key = np.concatenate([self.key, key])
        if len(self.key) > self.size:
            smallest = np.sort(np.argpartition(self.key, self.size)[: self.size])
            self.X, self.y, self.key = self.X[smallest], self.y[smallest], self.key[smallest]
