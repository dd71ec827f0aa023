"""Choose the weight of the penalty of a single model by the log-loss of rows that are held out.

The penalties are multiples of the usual one. Each training part is followed along the path of all of them, every model
starting from the one before, so that six penalties cost little more than two. Of few rows three folds are held out in
turn; of many one part is enough. The log-loss counts how sure a model is of each row, where the error rate counts only
the rows near the boundary; for the hinge a link turns decision values into probabilities first.

Between penalties whose losses differ by no more than half a standard error the strongest is chosen. All numbers here
were chosen on the tables of `benchmarks/collection`: see docs/model.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from ldep._utils import single_thread
from ldep.model import fit_decisions, folded, own_link
from ldep.search._alpha_path import SharedCoordinates, follow
from ldep.solvers import weight_scale
from ldep.training import Loss, Samples, merge, own_class

# The penalties to compare, as multiples of the usual one.
FACTORS = (1e-3, 0.03, 0.3, 1.0, 3.0, 10.0)
# Comparing penalties takes no more precision than this.
PENALTY_TOL = 0.05
N_FOLDS = 3
# With fewer rows a choice is mostly noise. From MANY_ROWS on one part is held out, and of more rows per class than
# MOST_ROWS_PER_CLASS a sample is as good.
FEWEST_ROWS, MANY_ROWS, MOST_ROWS_PER_CLASS = 30, 2000, 1000
# Losses within this many standard errors of the lowest one count as equal to it.
WITHIN = 0.5

Part = tuple[np.ndarray, np.ndarray]


def parts_of(own: np.ndarray, rng: np.random.Generator) -> list[Part]:
    """Row numbers of training and test parts, each with all classes; none where there are too few rows."""
    counts = np.bincount(own)
    seed = int(rng.integers(2**31))
    if len(own) < FEWEST_ROWS or counts.min() < 2:
        return []
    if len(own) < MANY_ROWS:
        folds = StratifiedKFold(min(N_FOLDS, int(counts.min())), shuffle=True, random_state=seed)
        return list(folds.split(own, own))
    n_rows = min(len(own), MOST_ROWS_PER_CLASS * len(counts))
    n_test = max(n_rows // N_FOLDS, len(counts))
    train, test = train_test_split(
        np.arange(len(own)), train_size=n_rows - n_test, test_size=n_test, stratify=own, random_state=seed
    )
    if any(len(np.unique(own[part])) < len(counts) for part in (train, test)):
        return []
    return [(np.sort(train), np.sort(test))]


@dataclass(frozen=True)
class PenaltyPath:
    """What the models of all penalties have in common: see `LDEPClassifier` for the meaning of each."""

    group_sizes: tuple[int, ...]
    loss: Loss
    penalty: str
    scale: float  # the usual penalty
    monotone: np.ndarray | None
    tol: float
    max_iter: int | None

    def losses(self, rows: Samples, parts: list[Part], n_classes: int, rng: np.random.Generator) -> np.ndarray:
        """The log-loss of each held-out row, of shape (n_factors, n_rows); rows in no test part have NaN."""
        decisions = np.full((len(FACTORS), len(rows.y), n_classes), np.nan)
        for train, test in parts:
            part = Samples(rows.X[train], rows.y[train], rows.weight[train])
            scale = weight_scale(part.weight)
            part = merge(*part._replace(weight=scale * part.weight))
            alphas = [factor * self.scale * scale for factor in FACTORS]
            shared = SharedCoordinates.of(part, self.penalty, alphas[0], self.monotone)
            path = follow(
                shared, self.group_sizes, alphas, rng.spawn(1)[0], loss=self.loss, tol=self.tol, max_iter=self.max_iter
            )
            for number, solution in enumerate(path):
                maxima = shared.coordinates.fitted(solution.theta, self.group_sizes)
                decisions[number, test] = maxima.scores(rows.X[test])
        tested = ~np.isnan(decisions[0, :, 0])
        own = own_class(rows.y, n_classes)
        losses = np.full(decisions.shape[:2], np.nan)
        for number, scores in enumerate(decisions):
            values = folded(scores[tested])
            link = own_link(n_classes)
            if self.loss == "hinge":
                link = fit_decisions(values, own[tested], rows.weight[tested])[0]
            probabilities = link.probabilities(values)[np.arange(len(values)), own[tested]]
            losses[number, tested] = -np.log(np.maximum(probabilities, np.finfo(float).tiny))
        return losses


def choose_factor(losses: np.ndarray, weight: np.ndarray) -> float:
    """The largest factor whose mean loss is within half a standard error of the lowest one.

    The error is that of the mean difference from the lowest, row by row; `losses` has one row per factor.
    """
    tested = ~np.isnan(losses[0])
    losses, share = losses[:, tested], weight[tested] / weight[tested].sum()
    excess = losses - losses[int(np.argmin(losses @ share))]
    mean = excess @ share
    error = np.sqrt(np.square(excess - mean[:, None]) @ np.square(share))
    return FACTORS[int(np.flatnonzero(mean <= WITHIN * error)[-1])]


def choose_penalty(rows: Samples, path: PenaltyPath, n_classes: int, rng: np.random.Generator) -> float:
    """The weight of the penalty; the usual one where there are too few rows to choose."""
    parts = parts_of(own_class(rows.y, n_classes), rng)
    if not parts:
        return path.scale
    with single_thread():
        losses = path.losses(rows, parts, n_classes, rng)
    return choose_factor(losses, rows.weight) * path.scale
