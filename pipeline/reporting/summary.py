"""The first lines of the report: what was found, in sentences that each stand on a number or a test."""

from __future__ import annotations

from pipeline import paper
from pipeline.reporting import names, scores
from pipeline.reporting.scores import Scores
from pipeline.reporting.significance import LEVEL, Claim, Ranks, smallest_p


def sentences(held: Scores, claims: list[Claim], ranks: Ranks | None) -> list[str]:
    """What the results say."""
    return [*_means(held), *_claims(claims), *_ranks(ranks)]


def limits(held: Scores, claims: list[Claim]) -> list[str]:
    """What they cannot say."""
    found = []
    count = len(held.sets)
    if claims:
        fewest = min(claim.sets for claim in claims)
        needed = LEVEL / len(claims)
        if smallest_p(fewest) > needed:
            found.append(
                f"{fewest} {'set is' if fewest == 1 else 'sets are'} too few for a verdict: a model that wins on all of "
                f"them reaches p = {smallest_p(fewest):.2g}, and with {len(claims)} comparisons the first needs "
                f"{needed:.2g}."
            )
    else:
        found.append("No claim about the tuned ℓ-DEP is tested: it, or what to compare it with, is not among the models.")
    if any(name in paper.table() for name in held.sets):
        found += [
            "The paper's models are not tuned. A lead over its figures says what tuning gains; only the tuned baselines "
            "of this run are a fair comparison of models.",
            "A test over sets takes them for a sample of all sets. These were picked by the paper.",
        ]
    if "steel-plates-fault" in held.sets:
        found.append("Steel Plates Fault holds columns that give the class away: 100 % there is no achievement.")
    if count and not found:
        found.append("A test over sets takes them for a sample of all sets.")
    return found


def _means(held: Scores) -> list[str]:
    summary = held.over_sets()
    complete = summary.loc[held.complete, "mean"].sort_values(ascending=False, kind="stable")
    if complete.empty:
        return ["No model has a result on every set."]
    on = f"{len(held.sets)} sets" if len(held.sets) > 1 else names.title(held.sets[0])
    found = [f"Best mean accuracy on {on}: " + ", ".join(f"{names.label(m)} {v:.1f}" for m, v in complete[:3].items()) + "."]
    printed = scores.printed(held.sets)
    ours = [model for model in (*names.OURS, "ldep_paper") if model in held.complete]
    if len(printed) and ours:
        shown = ", ".join(f"{names.label(m)} {held.mean.loc[printed.index, m].mean():.1f}" for m in ours)
        best = printed.mean().idxmax()
        where = "" if len(printed) == len(held.sets) else f" (on the {len(printed)} sets that it has)"
        found.append(
            f"Here: {shown}. In the paper{where}: ℓ-DEP {printed['ldep'].mean():.1f}, its best model "
            f"({names.label(best)}) {printed[best].mean():.1f}, the best of its five set by set "
            f"{printed.max(axis=1).mean():.1f}."
        )  # fmt: skip
    return found


def _claims(claims: list[Claim]) -> list[str]:
    found = []
    for model in names.OURS:
        mine = [claim for claim in claims if claim.ours == model]
        parts = []
        for verdict, words in (("better", "better than"), ("worse", "worse than"),
                               ("no difference shown", "no difference shown against")):  # fmt: skip
            held = [f"{claim.other} (p = {p_text(claim.holm)})" for claim in mine if claim.verdict == verdict]
            if held:
                parts.append(f"{words} {', '.join(held)}")
        if parts:
            found.append(f"{names.label(model)}: {'; '.join(parts)}.")
    return found


def _ranks(ranks: Ranks | None) -> list[str]:
    if ranks is None:
        return []
    first = ranks.mean.index[0]
    said = "differ" if ranks.p < LEVEL else "cannot be told apart"
    return [
        f"By mean rank {names.label(first)} comes first ({ranks.mean.iloc[0]:.1f} of {len(ranks.mean)}). Over all models "
        f"the ranks {said} (Friedman, p = {p_text(ranks.p)})."
    ]  # fmt: skip


def p_text(p: float) -> str:
    return f"{p:.1e}".replace("e-0", "e-") if p < 0.001 else f"{p:.3f}"
