"""The Bayesian signed-rank test of two models over many data sets [1]_.

It gives the probability that one model is better, and the probability that the two are practically equal, which no test
of a null hypothesis can give.

References
----------
.. [1] A. Benavoli, G. Corani, J. Demšar and M. Zaffalon, "Time for a change: a tutorial for comparing multiple
   classifiers through Bayesian analysis", Journal of Machine Learning Research 18 (2017), 1-36.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

SAMPLES = 50_000  # of the posterior: probabilities are exact to about 0.002
PRIOR_STRENGTH = 0.5  # weight of the one pseudo-observation, at a difference of zero
CHUNK = 2_000  # samples at a time, to bound the memory


@dataclass(frozen=True)
class Posterior:
    """The probabilities that the first model is worse, practically equal, and better. They sum to 1."""

    worse: float
    equal: float
    better: float


def bayesian_signed_rank(differences: np.ndarray, rope: float, seed: int = 0) -> Posterior:
    """The posterior of the signed-rank statistic under a Dirichlet process prior.

    A sample of the posterior weights the data sets. It counts the pairs (i, j) of data sets by weight, and by whether
    the mean of their two differences is below the region of practical equivalence, inside it or above it. The
    probability of each outcome is the share of samples in which its count is the largest.

    Parameters
    ----------
    differences : ndarray of shape (n_datasets,)
        The score of one model minus that of the other, one per data set.
    rope : float
        Differences of at most this size count as equal.
    seed : int, default=0
        Seed of the samples.
    """
    values = np.concatenate([[0.0], np.asarray(differences, dtype=float)])
    means = (values[:, None] + values[None, :]) / 2.0
    below, above = (means < -rope).astype(float), (means > rope).astype(float)
    wins = np.zeros(3)
    for weights in _weights(len(values), seed):
        worse = np.sum((weights @ below) * weights, axis=1)
        better = np.sum((weights @ above) * weights, axis=1)
        shares = np.column_stack([worse, 1.0 - worse - better, better])
        wins += np.bincount(shares.argmax(axis=1), minlength=3)
    return Posterior(*(wins / wins.sum()).tolist())


@lru_cache(maxsize=2)
def _weights(count: int, seed: int) -> list[np.ndarray]:
    """The samples of the weights, in chunks. A report makes hundreds of comparisons over the same data sets."""
    strength = np.ones(count)
    strength[0] = PRIOR_STRENGTH
    rng = np.random.default_rng(seed)
    return [rng.dirichlet(strength, CHUNK) for _ in range(SAMPLES // CHUNK)]
