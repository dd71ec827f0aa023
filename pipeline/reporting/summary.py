"""The first lines of the report: findings that each rest on a number or a test, and what they do not show."""

from __future__ import annotations

from pipeline.reporting import labels, paper
from pipeline.reporting.accuracies import Accuracies, published_means
from pipeline.reporting.significance import EQUAL, LEVEL, UNDECIDED, Claim, Ranks, smallest_p

P_EQUALS = "p\u00a0=\u00a0"  # non-breaking spaces
_SAMPLE = "The tests treat the data sets as a random sample of all data sets"


def findings(accuracies: Accuracies, claims: list[Claim], ranks: Ranks | None) -> list[str]:
    """What the results show."""
    return [*_means(accuracies), *_verdicts(claims), *_ranks(ranks)]


def limits(accuracies: Accuracies, claims: list[Claim]) -> list[str]:
    """What the results cannot show."""
    sentences = _power(claims)
    if any(name in paper.table() for name in accuracies.datasets):
        sentences += [
            "The paper did not tune its models. A lead over its figures shows what tuning gains; only the tuned "
            "baselines of this run allow a fair comparison of the models.",
            f"{_SAMPLE}, but the paper chose these.",
        ]
    if "steel-plates-fault" in accuracies.datasets:
        sentences.append("Steel Plates Fault contains columns that reveal the class: 100 % there means little.")
    return sentences or [f"{_SAMPLE}."]


def p_text(p: float) -> str:
    if p > 0.9995:
        return "1"
    return f"{p:.1e}".replace("e-0", "e-").replace("-", "−") if p < 0.001 else f"{p:.3f}"


def _power(claims: list[Claim]) -> list[str]:
    if not claims:
        return ["No claim about the tuned ℓ-DEP is tested: the results lack that model, or one to compare it with."]
    fewest, needed = min(claim.datasets for claim in claims), LEVEL / len(claims)
    if smallest_p(fewest) <= needed:
        return []
    too_few = "1 data set is" if fewest == 1 else f"{fewest} data sets are"
    return [
        f"{too_few} too few for a significant difference: even a model that wins on every data set only reaches "
        f"{P_EQUALS}{smallest_p(fewest):.2g}, and the smallest of {len(claims)} p-values must be below {needed:.2g}."
    ]


def _means(accuracies: Accuracies) -> list[str]:
    summary = accuracies.over_datasets()
    complete = summary.loc[accuracies.complete, "mean"].sort_values(ascending=False, kind="stable")
    if complete.empty:
        return ["No model has a result on every data set."]
    count = len(accuracies.datasets)
    where = f"{count} data sets" if count > 1 else labels.title(accuracies.datasets[0])
    best_three = ", ".join(f"{labels.label(model)} {mean:.1f}" for model, mean in complete[:3].items())
    sentences = [f"Best mean accuracy on {where}: {best_three}."]
    printed = published_means(accuracies.datasets)
    ours = [model for model in (*labels.OURS, "ldep_paper") if model in accuracies.complete]
    if len(printed) and ours:
        sentences.append(_beside_paper(accuracies, ours))
    return sentences


def _beside_paper(accuracies: Accuracies, ours: list[str]) -> str:
    printed = published_means(accuracies.datasets)
    here = ", ".join(f"{labels.label(m)} {accuracies.mean.loc[printed.index, m].mean():.1f}" for m in ours)
    where = "" if len(printed) == len(accuracies.datasets) else f" (on the {len(printed)} data sets that it has)"
    best = printed.mean().idxmax()
    theirs = [f"ℓ-DEP {printed['ldep'].mean():.1f}"]
    if best != "ldep":
        theirs.append(f"its best model ({labels.label(best)}) {printed[best].mean():.1f}")
    theirs.append(f"its best model per data set {printed.max(axis=1).mean():.1f}")
    return f"This run: {here}. The paper{where}: {', '.join(theirs)}."


def _verdicts(claims: list[Claim]) -> list[str]:
    sentences = []
    for model in labels.OURS:
        tested = [claim for claim in claims if claim.ours == model]
        if not tested:
            continue
        parts = []
        for verdict, words in (("better", "significantly better than"), ("worse", "significantly worse than")):
            decided = [claim for claim in tested if claim.verdict == verdict]
            if decided:
                parts.append(f"{words} {_listed(decided)}")
        equal = [claim for claim in tested if claim.verdict == EQUAL]
        if equal:
            others = " and ".join(f"{claim.other} (probability {claim.posterior.equal:.2f})" for claim in equal)
            parts.append(f"practically equal to {others}")
        undecided = [claim for claim in tested if claim.verdict == UNDECIDED]
        if len(undecided) == len(tested):
            smallest = p_text(min(claim.holm for claim in tested))
            count = labels.count_of(len(tested), "comparison")
            parts.append(f"no significant difference in {count} (smallest {P_EQUALS}{smallest})")
        elif undecided:
            parts.append(f"no significant difference from {_listed(undecided)}")
        sentences.append(f"{labels.label(model)}: {'; '.join(parts)}.")
    return sentences


def _listed(claims: list[Claim]) -> str:
    parts = [f"{claim.other} ({P_EQUALS}{p_text(claim.holm)})" for claim in claims]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _ranks(ranks: Ranks | None) -> list[str]:
    if ranks is None:
        return []
    first = ranks.mean.index[0]
    outcome = "differ significantly" if ranks.p < LEVEL else "do not differ significantly"
    return [
        f"{labels.label(first)} has the best mean rank ({ranks.mean.iloc[0]:.1f} among {len(ranks.mean)} models). "
        f"The ranks of all models {outcome} (Friedman's test, {P_EQUALS}{p_text(ranks.p)})."
    ]
