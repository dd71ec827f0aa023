"""Is one model better than another? Tests over many data sets, and intervals over the folds of one.

Over data sets. All models at once: Friedman's test and Nemenyi's (Demšar 2006). For each claim about the ℓ-DEP: a
two-sided Wilcoxon signed-rank test, with Pratt's treatment of ties. Holm's method corrects all claims together. The
Bayesian signed-rank test [1]_ beside it gives the probability that one model is better, and the probability that the
two are practically equal, which no test of a null hypothesis can give.

On one data set. Both models were measured on the same folds, so their difference is taken fold by fold. The intervals
of all comparisons hold together with 95 % confidence (Bonferroni), and a difference is clear if its interval does not
contain zero.

References
----------
.. [1] A. Benavoli, G. Corani, J. Demšar and M. Zaffalon, "Time for a change: a tutorial for comparing multiple
   classifiers through Bayesian analysis", Journal of Machine Learning Research 18 (2017), 1-36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon

from ldep_pipeline.metrics.metric import Metric
from ldep_pipeline.report import labels, paper
from ldep_pipeline.report.labels import OURS, RIVALS, TUNED
from ldep_pipeline.report.scores import LEVEL as CONFIDENCE
from ldep_pipeline.report.scores import FoldScores, Scores, interval_of_mean

LEVEL = 0.05
CERTAIN = 0.95  # a posterior probability from which on the report calls models equal
LEAST_FOR_EQUAL = 10  # data sets: a few small differences prove little
BETTER, WORSE, EQUAL, UNDECIDED = "better", "worse", "practically equal", "not significant"
DIGITS = 6  # of a mean: a smaller difference comes from summing in another order
SAMPLES = 50_000  # of the posterior: probabilities are exact to about 0.002
PRIOR_STRENGTH = 0.5  # weight of the one pseudo-observation, at a difference of zero
CHUNK = 2_000  # samples at a time, to bound the memory


@dataclass(frozen=True)
class Posterior:
    """The probabilities that the first model is worse, practically equal, and better. They sum to 1."""

    worse: float
    equal: float
    better: float


@dataclass(frozen=True)
class Ranks:
    """Mean ranks over the data sets (1 is best), Friedman's test, and Nemenyi's for each pair of models."""

    mean: pd.Series
    datasets: int
    left_out: list[str]
    statistic: float
    p: float
    critical_difference: float
    """The difference of two mean ranks from which on Nemenyi's test is significant."""
    pairs: pd.DataFrame


@dataclass(frozen=True)
class ModelComparison:
    """One of our models, or the winner, against another one. Positive differences are in favour of the first."""

    ours: str
    other: str
    difference: float
    """Of the mean goodness: higher is better, by any metric."""
    wins: int
    ties: int
    losses: int

    @property
    def verdict(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class Claim(ModelComparison):
    """A comparison over the data sets on which both models have a result."""

    datasets: int
    p: float
    holm: float
    direction: int
    posterior: Posterior

    @property
    def verdict(self) -> str:
        if self.holm < LEVEL:
            return BETTER if self.direction > 0 else WORSE
        is_equal = self.posterior.equal >= CERTAIN and self.datasets >= LEAST_FOR_EQUAL
        return EQUAL if is_equal else UNDECIDED


@dataclass(frozen=True)
class Lead(ModelComparison):
    """A comparison over the folds of one data set, with an interval of the difference."""

    interval: tuple[float, float] | None

    @property
    def verdict(self) -> str:
        if self.interval is None:
            return "not tested" if self.wins or self.losses else "equal in every fold"
        low, high = self.interval
        return BETTER if low > 0 else WORSE if high < 0 else "no clear difference"


def ranks(scores: Scores) -> Ranks | None:
    """None where there is nothing to test: fewer than three models, or fewer than two data sets."""
    import scikit_posthocs

    values = scores.goodness[scores.complete].round(DIGITS)
    count, width = values.shape
    if count < 2 or width < 3:
        return None
    mean = values.rank(axis=1, ascending=False).mean()
    if (values.nunique(axis=1) == 1).all():  # all models equal on all data sets: the statistic would be 0 / 0
        statistic, p = 0.0, 1.0
    else:
        statistic, p = map(float, friedmanchisquare(*values.T.to_numpy()))
    quantile = studentized_range.ppf(1 - LEVEL, width, np.inf) / np.sqrt(2)
    return Ranks(
        mean=mean.sort_values(kind="stable"),
        datasets=count,
        left_out=scores.incomplete,
        statistic=statistic,
        p=p,
        critical_difference=float(quantile * np.sqrt(width * (width + 1) / (6 * count))),
        pairs=scikit_posthocs.posthoc_nemenyi_friedman(values.reset_index(drop=True)),
    )


def claims(scores: Scores) -> list[Claim]:
    """Compare our tuned models with our own baselines, models that a user has added and, by accuracy, the paper."""
    others = _comparisons(scores)
    tested = []
    for model in OURS:
        if model not in scores.models:
            continue
        for name, means in others.items():
            claim = _compare(scores, model, name, means)
            if claim is not None:
                tested.append(claim)
    if not tested:
        return []
    corrected = holm(np.array([claim.p for claim in tested]))
    return [replace(claim, holm=float(p)) for claim, p in zip(tested, corrected)]


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's correction: the k-th smallest of n values counts n - k + 1 times, and no less than a smaller one."""
    order = np.argsort(p)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return corrected


def smallest_p(datasets: int) -> float:
    """The smallest p that a signed-rank test over so many data sets can reach: one model wins on all of them."""
    return min(1.0, 2.0 ** (1 - datasets))


def outcomes(scores: Scores) -> pd.DataFrame:
    """(wins, ties, losses) of the row's model against the column's; a tie is the same printed mean."""
    goodness, models = scores.metric.goodness(scores.printed()), scores.models
    columns = {other: {ours: _outcome(goodness[ours], goodness[other]) for ours in models} for other in models}
    return pd.DataFrame(columns, index=models)


def _comparisons(scores: Scores) -> dict[str, pd.Series]:
    """The means, over the data sets, of everything that our models are compared with."""
    others: dict[str, pd.Series] = {}
    published = paper.means(scores.datasets)
    if len(published) and scores.metric.is_accuracy:
        others["the paper's ℓ-DEP"] = published["ldep"]
        best = published.mean().idxmax()
        if best != "ldep":
            others[f"the paper's best model ({labels.label(best)})"] = published[best]
        others["the paper's best model per data set"] = published.max(axis=1)
    for model in scores.models:
        is_tuned_peer = labels.form_of(model)[1] == TUNED and labels.family(model) != "ldep"
        if model in RIVALS or is_tuned_peer or labels.family(model) == "other":
            others[labels.label(model)] = scores.mean[model]
    return others


def _outcome(ours: pd.Series, other: pd.Series) -> tuple[int, int, int]:
    gain = (ours - other).dropna()
    return int((gain > 0).sum()), int((gain == 0).sum()), int((gain < 0).sum())


def _compare(scores: Scores, model: str, other: str, means: pd.Series) -> Claim | None:
    """means: those of the other, one per data set."""
    metric = scores.metric
    pair = pd.DataFrame({"ours": scores.mean[model], "other": means}).dropna()
    if pair.empty:
        return None
    goodness = metric.goodness(pair)
    gain = (goodness["ours"] - goodness["other"]).round(DIGITS)
    printed = metric.goodness(pair.map(metric.printed))
    wins, ties, losses = _outcome(printed["ours"], printed["other"])
    p = 1.0 if (gain == 0).all() else float(wilcoxon(gain, zero_method="pratt").pvalue)
    return Claim(
        ours=model,
        other=other,
        datasets=len(gain),
        difference=float(gain.mean()),
        wins=wins,
        ties=ties,
        losses=losses,
        p=p,
        holm=p,
        direction=int(np.sign(np.sum(np.sign(gain) * rankdata(gain.abs())))),
        posterior=bayesian_signed_rank(gain.to_numpy(), metric.equal_gain),
    )


def leads(winner: FoldScores, others: Sequence[FoldScores], metric: Metric, test_share: float) -> list[Lead]:
    """The winner against each other model, on the folds of one data set."""
    confidence = 1 - (1 - CONFIDENCE) / max(len(others), 1)
    found = []
    for other in others:
        gains = winner.values - other.values if metric.higher_is_better else other.values - winner.values
        won, lost = int((gains > 0).sum()), int((gains < 0).sum())
        found.append(
            Lead(
                ours=winner.model,
                other=other.model,
                difference=float(np.mean(gains)),
                wins=won,
                ties=len(gains) - won - lost,
                losses=lost,
                interval=interval_of_mean(gains, test_share, confidence),
            )
        )
    return found


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
