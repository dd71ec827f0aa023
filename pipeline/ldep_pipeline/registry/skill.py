"""Whether a model has skill: whether it beats the best rule that ignores the features, by more than noise.

Two questions are asked about the rows that each fit has not seen.

Do the answers depend on the classes at all? The sum of the rows' scores for their own classes, as ranks within each
fold, is compared with what it would be if the classes of a fold were shuffled among its rows; mean and variance of that
are known in closed form. With two classes this is the rank-sum test. Rows of one group say less than so many separate
rows, and so do neighbours in time: the mean over groups or over blocks of time must also exceed zero by Student's test
of their sums. (A test by the mean square of the sums instead of their variance would count the effect itself as noise,
and could find no effect at all with few groups.) Both are corrected as the standard error below is, because models
whose training parts overlap err together: without any relation their sums vary by a third to a half more than those of
independent models. Folds by time need no correction, here or below. A block is scored by a model that has seen earlier
rows only, so without any relation its sum has the mean zero whatever happened before, and the sums of the blocks are
uncorrelated.

Is the metric better than that of the rule? The mean difference over the folds must exceed two standard errors, which
are those of Nadeau and Bengio for folds whose training parts overlap. A metric of scores, such as average precision, is
about the same order of the rows as the first question, which answers it with more power: of a rare class, single folds
have too few rows. There the mean must be better, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from ldep_pipeline.fitting.specs import Costs
from ldep_pipeline.fitting.training_data import TrainingData
from ldep_pipeline.metrics.evaluation import classes_of, guess
from ldep_pipeline.metrics.metric import METRICS, Metric

CHANCE = 0.02  # that one of the models of a data set passes the first question although none of them has skill
STANDARD_ERRORS = 2.0
BLOCKS = 20  # in time
# The shares of the classes are calibrated perfectly, so nothing beats them by it. Log-loss judges the same
# probabilities.
JUDGED_BY = {"calibration_error": "log_loss"}


@dataclass(frozen=True)
class Skill:
    """The mean of the rule, the gain of the model with its standard error, and why the model is no candidate."""

    guess: float
    gain: float
    error: float
    problem: str
    """Empty for a model that beats guessing."""


@dataclass(frozen=True)
class Judge:
    """Compares the models of one data set with the rule that ignores the features."""

    metric: Metric
    data: TrainingData
    costs: Costs | None
    models: int
    """How many models are asked: the more, the likelier one of them looks good by chance."""

    @classmethod
    def of(cls, metric: str, data: TrainingData, costs: Costs | None, models: int) -> Judge:
        return cls(METRICS[JUDGED_BY.get(metric, metric)], data, costs, models)

    def guesses(self) -> np.ndarray:
        """The value of the rule on each fold; NaN where it has none."""
        data, classes = self.data, classes_of(self.data.y, self.costs)
        folds = [(data.y[data.train_rows(fold)], data.y[data.test_rows(fold)]) for fold in range(data.n_folds)]
        return np.array([guess(self.metric.name, *parts, classes) for parts in folds], dtype=np.float64)

    def skill(self, table: pd.DataFrame, decisions: np.ndarray | None) -> Skill:
        """Judge a model by its rows of the results, and the decision values of unseen rows if it has any."""
        values = table[table["metric"] == self.metric.name].sort_values("fold")["value"].to_numpy(dtype=np.float64)
        guesses, noun = self.guesses(), self.metric.noun
        differences = values - guesses if self.metric.higher_is_better else guesses - values
        differences = differences[np.isfinite(differences)]
        if not len(differences):
            return Skill(float("nan"), float("nan"), float("nan"), f"it has no {noun} to compare with guessing")
        gain, error = float(np.mean(differences)), standard_error(differences, self.data)
        problem, mean = "", float(np.nanmean(guesses))
        has_ranks = self.metric.needs == "scores" and decisions is not None
        if gain <= 0 or (gain <= STANDARD_ERRORS * error and not has_ranks):
            shown = f"{self.metric.text(mean)}{self.metric.unit}"
            problem = (
                f"guessing has {noun} {shown}, and a gain of {gain:.3g} is not more than {STANDARD_ERRORS:g} standard "
                f"errors of {error:.2g}"
            )
        elif decisions is not None and association(decisions, self.data) < stats.norm.isf(CHANCE / self.models):
            problem = "its answers do not depend on the classes by more than chance"
        return Skill(mean, gain, error, problem)


def standard_error(differences: np.ndarray, data: TrainingData) -> float:
    """The standard error of a mean difference over the folds; infinite for a single fold."""
    if len(differences) < 2:
        return float("inf")
    return float(np.std(differences, ddof=1) * np.sqrt(1 / len(differences) + _overlap(data)))


def _overlap(data: TrainingData) -> float:
    """The rows of a test part divided by those of its training part, the mean over the folds; 0 for folds by time."""
    if data.partition.time is not None:
        return 0.0
    shares = [data.test_rows(fold).sum() / data.train_rows(fold).sum() for fold in range(data.n_folds)]
    return float(np.mean(shares))


def association(decisions: np.ndarray, data: TrainingData) -> float:
    """By how many standard deviations the scores of the own classes exceed what shuffled classes would give.

    decisions: one column per class, NaN where no fold tests a row. Only the first repeat is used.
    """
    labels, numbers = np.unique(data.y, return_inverse=True)
    own, variance, tested = np.zeros(len(numbers)), 0.0, np.zeros(len(numbers), dtype=bool)
    for fold in range(data.partition.folds_per_repeat):
        rows = np.flatnonzero(data.test_rows(fold))
        if len(rows) < 2:
            continue
        tested[rows] = True
        counts = np.bincount(numbers[rows], minlength=len(labels))
        ranks = stats.rankdata(decisions[rows], axis=0) / len(rows)
        ranks -= ranks.mean(axis=0)
        ranks -= (ranks @ counts / len(rows))[:, None]
        own[rows] = ranks[np.arange(len(rows)), numbers[rows]]
        variance += float((ranks**2).sum(axis=0) @ counts) / (len(rows) - 1)
    if variance <= 0:
        return 0.0
    found = float(own.sum() / np.sqrt(variance))
    clusters = data.partition.group
    if data.partition.time is not None:
        clusters = stats.rankdata(data.partition.time, method="min") * BLOCKS // (len(numbers) + 1)
    if clusters is not None:
        found = min(found, _by_clusters(own, clusters, tested))
    return found / float(np.sqrt(1 + data.partition.folds_per_repeat * _overlap(data)))


def _by_clusters(own: np.ndarray, clusters: np.ndarray, tested: np.ndarray) -> float:
    """Student's test of the mean over the tested rows, by the sums of clusters, as standard deviations of a normal."""
    cluster = np.unique(clusters[tested], return_inverse=True)[1]
    sums, sizes = np.bincount(cluster, own[tested]), np.bincount(cluster)
    count, total = len(sums), float(sums.sum())
    if count < 2 or total <= 0:
        return 0.0
    deviations = sums - sizes * (total / sizes.sum())
    spread = float(np.sqrt(deviations @ deviations * count / (count - 1)))
    return float(stats.norm.isf(stats.t.sf(total / spread, count - 1))) if spread > 0 else float("inf")
