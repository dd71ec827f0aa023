"""What the results show, and with which certainty: ranks and tests over the sets.

Friedman and Nemenyi for all models at once (Demsar 2006); for each claim about the ℓ-DEP a Wilcoxon signed-rank test
over the sets, two-sided, by Pratt's way with ties, all claims corrected together by Holm's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon
from statsmodels.stats.multitest import multipletests

from pipeline.reporting import labels, scores
from pipeline.reporting.scores import Scores

LEVEL = 0.05
RIVALS = ("mlp", "rbf_svc", "rbf_svc_tuned", "mlp_tuned")
DIGITS = 6  # of a mean in per cent: what differs less is the same number, summed in another order


@dataclass(frozen=True)
class Ranks:
    """Mean ranks over the sets (1 is best), Friedman's test, and which pairs Nemenyi's tells apart."""

    mean: pd.Series
    sets: int
    left_out: list[str]
    statistic: float
    p: float
    distance: float
    """Nemenyi's critical difference of two mean ranks."""
    pairs: pd.DataFrame


@dataclass(frozen=True)
class Claim:
    """One of our models against one other, over the sets that both have."""

    ours: str
    other: str
    sets: int
    difference: float
    wins: int
    ties: int
    losses: int
    p: float
    holm: float
    direction: int

    @property
    def verdict(self) -> str:
        if self.holm < LEVEL:
            return "better" if self.direction > 0 else "worse"
        return "no difference shown"


def ranks(held: Scores) -> Ranks | None:
    """None where there is nothing to test: fewer than three models, or than two sets."""
    import scikit_posthocs

    models = held.complete
    values = held.mean[models].round(DIGITS)
    count, width = values.shape
    if count < 2 or width < 3:
        return None
    mean = values.rank(axis=1, ascending=False).mean()
    if (values.nunique(axis=1) == 1).all():  # all models equal on all sets: the statistic would be 0 / 0
        statistic, p = 0.0, 1.0
    else:
        statistic, p = map(float, friedmanchisquare(*values.T.to_numpy()))
    distance = studentized_range.ppf(1 - LEVEL, width, np.inf) / np.sqrt(2) * np.sqrt(width * (width + 1) / (6 * count))
    pairs = scikit_posthocs.posthoc_nemenyi_friedman(values.reset_index(drop=True))
    left_out = [model for model in held.models if model not in models]
    return Ranks(mean.sort_values(kind="stable"), count, left_out, statistic, p, float(distance), pairs)


def claims(held: Scores) -> list[Claim]:
    """Our tuned models against the paper's figures, our own baselines, and any model that was added."""
    others: dict[str, pd.Series] = {}
    paper = scores.printed(held.sets)
    if len(paper):
        others["the paper's ℓ-DEP"] = paper["ldep"]
        best = paper.mean().idxmax()
        if best != "ldep":
            others[f"the paper's best model ({labels.label(best)})"] = paper[best]
        others["the best of the paper's five, set by set"] = paper.max(axis=1)
    for model in held.models:
        if model in RIVALS or labels.family(model) == "other":
            others[labels.label(model)] = held.mean[model]
    found = []
    for model in labels.OURS:
        for other, values in others.items() if model in held.models else ():
            claim = _compare(model, other, held.mean[model], values)
            if claim is not None:
                found.append(claim)
    if not found:
        return []
    corrected = multipletests([claim.p for claim in found], method="holm")[1]
    return [Claim(**{**vars(claim), "holm": float(p)}) for claim, p in zip(found, corrected)]


def smallest_p(sets: int) -> float:
    """What a signed-rank test over so many sets can reach at best, if one model wins on all."""
    return min(1.0, 2.0 ** (1 - sets))


def outcomes(held: Scores) -> pd.DataFrame:
    """(wins, ties, losses) of the row's model against the column's; a tie is the same printed mean."""
    printed = held.mean.round(1)
    return pd.DataFrame(
        {b: {a: _outcome(printed[a], printed[b]) for a in held.models} for b in held.models}, index=held.models
    )


def _outcome(ours: pd.Series, other: pd.Series) -> tuple[int, int, int]:
    gain = (ours - other).dropna().round(1)
    return int((gain > 0).sum()), int((gain == 0).sum()), int((gain < 0).sum())


def _compare(model: str, other: str, ours: pd.Series, values: pd.Series) -> Claim | None:
    gain = (ours - values).dropna().round(DIGITS)
    if gain.empty:
        return None
    p = 1.0 if (gain == 0).all() else float(wilcoxon(gain, zero_method="pratt").pvalue)
    direction = int(np.sign(np.sum(np.sign(gain) * rankdata(gain.abs()))))
    tally = _outcome(ours.round(1), values.round(1))
    return Claim(model, other, len(gain), float(gain.mean()), *tally, p, p, direction)
