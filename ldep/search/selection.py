"""Greedy selection of the models whose average decides.

Caruana's forward selection with replacement [1]_: in each round the candidate is added that makes the average of all
that were added so far the best. A candidate that is added often gets a large weight, and one that is never added gets
none. The values of the candidates are out-of-fold values, so that a candidate cannot win by having seen the answers.

References
----------
.. [1] R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes, "Ensemble selection from libraries of models", ICML 2004.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Losses = Callable[[np.ndarray], np.ndarray]


def greedy_weights(values: np.ndarray, losses: Losses, n_rounds: int) -> np.ndarray:
    """Weight each candidate by the number of rounds that it wins.

    Parameters
    ----------
    values : ndarray of shape (n_candidates, n_samples, ...)
        Out-of-fold values of the candidates.
    losses : callable
        Returns the loss of each of several averages, as an array of shape (n_averages,) or (n_averages, n_losses). Of
        several losses, each decides between averages that are equal in those before.
    n_rounds : int
        Number of rounds.

    Returns
    -------
    weights : ndarray of shape (n_candidates,)
        Nonnegative weights with the sum 1: those after the round with the lowest loss, the first of equal ones.
    """
    counts = np.zeros(len(values), dtype=int)
    total = np.zeros(values.shape[1:])
    best_loss: tuple[float, ...] | None = None
    best_counts = counts
    for size in range(1, n_rounds + 1):
        table = losses((total + values) / size).reshape(len(values), -1)
        winner = int(np.lexsort(table.T[::-1])[0])
        counts[winner] += 1
        total += values[winner]
        loss = tuple(table[winner].tolist())
        if best_loss is None or loss < best_loss:
            best_loss, best_counts = loss, counts.copy()
    return best_counts / best_counts.sum()


def squared_error(targets: np.ndarray, weight: np.ndarray) -> Losses:
    """Mean squared difference from the targets.

    With targets -1 and +1 and values in between it is four times the Brier score of the share of votes (1 + value) / 2.
    With one target per class, of which one is 1 and the others are 0, the errors of the classes are added up. It counts
    every sample, where the accuracy counts only those near the boundary that change sides.
    """
    share = weight / weight.sum()

    def losses(averages: np.ndarray) -> np.ndarray:
        errors = np.square(averages - targets)
        return (errors if targets.ndim == 1 else errors.sum(axis=-1)) @ share

    return losses
