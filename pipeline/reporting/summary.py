"""The first lines of the report: findings that each rest on a number or a test, and what they do not show."""

from __future__ import annotations

from collections import Counter

from pipeline.reporting import labels, paper
from pipeline.reporting.report_data import ReportData
from pipeline.reporting.scores import Scores
from pipeline.reporting.significance import EQUAL, LEVEL, UNDECIDED, Claim, Ranks, smallest_p

P_EQUALS = "p\u00a0=\u00a0"  # non-breaking spaces
MOST_NAMED = 3  # models from which ours does not differ; the page has a table of all tests
_SAMPLE = "The tests treat the data sets as a random sample of all data sets"


def findings(data: ReportData) -> list[str]:
    """What the results show."""
    return [*_means(data.scores), *_stability(data), *_verdicts(data.claims), *_ranks(data.ranks)]


def limits(data: ReportData) -> list[str]:
    """What the results cannot show."""
    sentences = _power(data.claims)
    datasets = data.scores.datasets
    if any(name in paper.table() for name in datasets):
        if data.measure.is_accuracy:
            sentences.append(
                "The paper did not tune its models. A lead over its figures shows what tuning gains; only the tuned "
                "baselines of this run allow a fair comparison of the models."
            )
        sentences.append(f"{_SAMPLE}, but the paper chose these.")
    else:
        sentences.append(f"{_SAMPLE}.")
    if data.repeats == 1:
        sentences.append(
            "All numbers come from one partition into folds. Another one can change the order of models that are "
            "close; split.repeats shows by how much."
        )
    if "steel-plates-fault" in datasets:
        sentences.append("Steel Plates Fault contains columns that reveal the class: 100 % there means little.")
    return sentences


def first_three(scores: Scores) -> str:
    """The best three models by their mean, with it."""
    best = scores.best_first()[:3]
    return ", ".join(f"{labels.label(str(model))} {scores.measure.text(mean)}" for model, mean in best.items())


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


def _means(scores: Scores) -> list[str]:
    if not scores.complete:
        return ["No model has a result on every data set."]
    count = len(scores.datasets)
    where = f"{count} data sets" if count > 1 else labels.title(scores.datasets[0])
    sentences = [f"Best mean {scores.measure.noun} on {where}: {first_three(scores)}."]
    ours = [model for model in (*labels.OURS, "ldep_paper") if model in scores.complete]
    if len(paper.means(scores.datasets)) and ours and scores.measure.is_accuracy:
        sentences.append(_beside_paper(scores, ours))
    return sentences


def _beside_paper(accuracies: Scores, ours: list[str]) -> str:
    printed = paper.means(accuracies.datasets)
    here = ", ".join(f"{labels.label(m)} {accuracies.mean.loc[printed.index, m].mean():.1f}" for m in ours)
    where = "" if len(printed) == len(accuracies.datasets) else f" (on the {len(printed)} data sets that it has)"
    best = printed.mean().idxmax()
    theirs = [f"ℓ-DEP {printed['ldep'].mean():.1f}"]
    if best != "ldep":
        theirs.append(f"its best model ({labels.label(best)}) {printed[best].mean():.1f}")
    theirs.append(f"its best model per data set {printed.max(axis=1).mean():.1f}")
    return f"This run: {here}. The paper{where}: {', '.join(theirs)}."


def _stability(data: ReportData) -> list[str]:
    """Whether the first three models are the same in every repeat of the cross-validation."""
    means = data.means_of_repeats
    if means is None or means.shape[1] < 3:
        return []
    order = list(data.scores.best_first().index[:3])
    orders = [list(data.measure.best_first(means.loc[repeat]).index[:3]) for repeat in means.index]
    same = sum(other == order for other in orders)
    sentence = (
        f"In {same} of {len(orders)} repeats of the cross-validation the first three are the same, in the same order."
    )
    firsts = Counter(labels.label(str(other[0])) for other in orders)
    if len(firsts) > 1:
        shown = ", ".join(f"{name} in {count}" for name, count in firsts.most_common())
        sentence += f" The first is {shown}."
    return [sentence]


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
        elif len(undecided) > MOST_NAMED:
            closest = min(undecided, key=lambda claim: claim.p)
            p = p_text(closest.holm)
            parts.append(
                f"no significant difference from the other {len(undecided)} (closest: {closest.other}, {P_EQUALS}{p})"
            )
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
