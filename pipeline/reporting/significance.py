"""Statistical tests over the data sets: which differences between models are more than chance.

All models at once: Friedman's test and Nemenyi's (Demšar 2006). For each claim about the ℓ-DEP: a two-sided Wilcoxon
signed-rank test over the data sets, with Pratt's treatment of ties. Holm's method corrects all claims together. The
Bayesian signed-rank test beside it gives the probability that two models are practically equal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon
from statsmodels.stats.multitest import multipletests

from pipeline.reporting import labels, paper
from pipeline.reporting.bayesian import Posterior, bayesian_signed_rank
from pipeline.reporting.scores import Scores

LEVEL = 0.05
CERTAIN = 0.95  # a posterior probability from which on the report calls models equal
LEAST_FOR_EQUAL = 10  # data sets: a few small differences prove little
RIVALS = ("mlp", "rbf_svc")
UNDECIDED, EQUAL = "not significant", "practically equal"
DIGITS = 6  # of a mean: a smaller difference comes from summing in another order


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
class Claim:
    """One of our models against one other, over the data sets on which both have a result.

    `difference` is positive if our model is the better one, whether more or less of the measure is better.
    """

    ours: str
    other: str
    datasets: int
    difference: float
    wins: int
    ties: int
    losses: int
    p: float
    holm: float
    direction: int
    posterior: Posterior

    @property
    def verdict(self) -> str:
        if self.holm < LEVEL:
            return "better" if self.direction > 0 else "worse"
        is_equal = self.posterior.equal >= CERTAIN and self.datasets >= LEAST_FOR_EQUAL
        return EQUAL if is_equal else UNDECIDED


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
    for model in labels.OURS:
        if model not in scores.models:
            continue
        for name, means in others.items():
            claim = _compare(scores, model, name, means)
            if claim is not None:
                tested.append(claim)
    if not tested:
        return []
    corrected = multipletests([claim.p for claim in tested], method="holm")[1]
    return [replace(claim, holm=float(p)) for claim, p in zip(tested, corrected)]


def smallest_p(datasets: int) -> float:
    """The smallest p that a signed-rank test over so many data sets can reach: one model wins on all of them."""
    return min(1.0, 2.0 ** (1 - datasets))


def outcomes(scores: Scores) -> pd.DataFrame:
    """(wins, ties, losses) of the row's model against the column's; a tie is the same printed mean."""
    goodness, models = scores.measure.goodness(scores.printed()), scores.models
    columns = {other: {ours: _outcome(goodness[ours], goodness[other]) for ours in models} for other in models}
    return pd.DataFrame(columns, index=models)


def _comparisons(scores: Scores) -> dict[str, pd.Series]:
    """The means, over the data sets, of everything that our models are compared with."""
    others: dict[str, pd.Series] = {}
    published = paper.means(scores.datasets)
    if len(published) and scores.measure.is_accuracy:
        others["the paper's ℓ-DEP"] = published["ldep"]
        best = published.mean().idxmax()
        if best != "ldep":
            others[f"the paper's best model ({labels.label(best)})"] = published[best]
        others["the paper's best model per data set"] = published.max(axis=1)
    for model in scores.models:
        is_tuned_peer = labels.form_of(model)[1] == labels.TUNED and labels.family(model) != "ldep"
        if model in RIVALS or is_tuned_peer or labels.family(model) == "other":
            others[labels.label(model)] = scores.mean[model]
    return others


def _outcome(ours: pd.Series, other: pd.Series) -> tuple[int, int, int]:
    gain = (ours - other).dropna()
    return int((gain > 0).sum()), int((gain == 0).sum()), int((gain < 0).sum())


def _compare(scores: Scores, model: str, other: str, means: pd.Series) -> Claim | None:
    """means: those of the other, one per data set."""
    measure = scores.measure
    pair = pd.DataFrame({"ours": scores.mean[model], "other": means}).dropna()
    if pair.empty:
        return None
    goodness = measure.goodness(pair)
    gain = (goodness["ours"] - goodness["other"]).round(DIGITS)
    printed = measure.goodness(pair.map(measure.printed))
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
        posterior=bayesian_signed_rank(gain.to_numpy(), measure.rope),
    )
