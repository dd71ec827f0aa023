"""A uniform sample of rows that come batch by batch, in bounded memory."""

from __future__ import annotations

import numpy as np


class Reservoir:
    """Each row draws a key; the rows with the `size` smallest keys are kept.

    The k-th row of the stream draws the k-th number of the generator, however the rows are cut into batches, so that
    the sample depends on the seed and the order of the rows alone.
    """

    def __init__(self, size: int, seed: int):
        self.size, self.seed = size, seed
        self.seen = 0
        self.X, self.y, self.key = np.empty((0, 0)), np.empty(0), np.empty(0)

    def add(self, X: np.ndarray, y: np.ndarray) -> None:
        bits = np.random.PCG64(self.seed)
        bits.advance(self.seen)
        key = np.random.Generator(bits).random(len(X))
        self.seen += len(X)
        if len(self.key) == self.size:
            near = key < self.key.max()
            X, y, key = X[near], y[near], key[near]
        if not len(self.key):
            self.X, self.y, self.key = X.copy(), y.copy(), key
        elif len(key):
            self.X = np.concatenate([self.X, X])
            self.y = np.concatenate([self.y, y])
            self.key = np.concatenate([self.key, key])
        if len(self.key) > self.size:
            kept = np.sort(np.argpartition(self.key, self.size)[: self.size])
            self.X, self.y, self.key = self.X[kept], self.y[kept], self.key[kept]
