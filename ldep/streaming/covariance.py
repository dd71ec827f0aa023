"""Mean and covariance of rows that arrive in batches."""

from __future__ import annotations

import numpy as np


class RunningCovariance:
    """Count, mean and scatter matrix of the rows so far.

    Batches are joined by the pairwise update of Chan, Golub and LeVeque [1]_, which loses no digits to large means.

    Parameters
    ----------
    n_features : int
        Number of features.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample
       variances", technical report STAN-CS-79-773, Stanford University, 1979.
    """

    def __init__(self, n_features: int):
        self.count = 0
        self.mean = np.zeros(n_features)
        self.scatter = np.zeros((n_features, n_features))

    def add(self, X: np.ndarray) -> None:
        """Add a batch of rows."""
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
        """Variance of each feature."""
        return self.scatter.diagonal() / self.count

    def covariance(self, scale: np.ndarray) -> np.ndarray:
        """Covariance of the features after each is multiplied by its scale."""
        return self.scatter / self.count * np.outer(scale, scale)
