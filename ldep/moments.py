"""Mean and covariance of rows that come batch by batch."""

from __future__ import annotations

import numpy as np


class Moments:
    """Count, mean and scatter. Two sets of rows are joined by Chan's update, which loses no digits to large means."""

    def __init__(self, n: int):
        self.count = 0
        self.mean = np.zeros(n)
        self.scatter = np.zeros((n, n))

    def add(self, X: np.ndarray) -> None:
        if not len(X):
            return
        mean = X.mean(axis=0)
        centred = X - mean
        shift = mean - self.mean
        total = self.count + len(X)
        self.scatter += centred.T @ centred
        self.scatter += np.outer(shift, shift) * (self.count * len(X) / total)
        self.mean += shift * (len(X) / total)
        self.count = total

    @property
    def variance(self) -> np.ndarray:
        return self.scatter.diagonal() / self.count

    def covariance(self, scale: np.ndarray) -> np.ndarray:
        """The covariance of the features times a scale each."""
        return self.scatter / self.count * np.outer(scale, scale)
