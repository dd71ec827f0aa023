"""The first lines of the report: what was found, in sentences that each stand on a number or a test."""

from __future__ import annotations

from pipeline.reporting import labels, paper, scores
from pipeline.reporting.scores import Scores
from pipeline.reporting.significance import LEVEL, Claim, Ranks, smallest_p

EQUALS = "p\u00a0=\u00a0"  # not to be parted at the end of a line


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
                f"{fewest} {'set is' if fewest == 1 else 'sets are'} too few for a verdict: a model that wins on all "
                f"reaches {EQUALS}{smallest_p(fewest):.2g}, and with {len(claims)} comparisons the first needs "
                f"{needed:.2g}."
            )
    else:
        found.append(
            "No claim about the tuned ℓ-DEP is tested: it, or what to compare it with, is not among the models."
        )
    if any(name in paper.table() for name in held.sets):
        found += [
            "The paper's models are not tuned. A lead over its figures says what tuning gains; only the tuned "
            "baselines of this run are a fair comparison of models.",
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
    on = f"{len(held.sets)} sets" if len(held.sets) > 1 else labels.title(held.sets[0])
    found = [
        f"Best mean accuracy on {on}: " + ", ".join(f"{labels.label(m)} {v:.1f}" for m, v in complete[:3].items()) + "."
    ]
    printed = scores.printed(held.sets)
    ours = [model for model in (*labels.OURS, "ldep_paper") if model in held.complete]
    if len(printed) and ours:
        shown = ", ".join(f"{labels.label(m)} {held.mean.loc[printed.index, m].mean():.1f}" for m in ours)
        best = printed.mean().idxmax()
        where = "" if len(printed) == len(held.sets) else f" (on the {len(printed)} sets that it has)"
        found.append(
            f"Here: {shown}. In the paper{where}: ℓ-DEP {printed['ldep'].mean():.1f}, its best model "
            f"({labels.label(best)}) {printed[best].mean():.1f}, the best of its five set by set "
            f"{printed.max(axis=1).mean():.1f}."
        )  # fmt: skip
    return found


def _claims(claims: list[Claim]) -> list[str]:
    found = []
    for model in labels.OURS:
        mine = [claim for claim in claims if claim.ours == model]
        if not mine:
            continue
        parts = [
            f"{words} {_list([claim for claim in mine if claim.verdict == verdict])}"
            for verdict, words in (("better", "better than"), ("worse", "worse than"))
            if any(claim.verdict == verdict for claim in mine)
        ]
        open_ = [claim for claim in mine if claim.verdict == "no difference shown"]
        if len(open_) == len(mine):
            least = min(claim.holm for claim in mine)
            parts.append(f"no difference is shown against any of the {len(mine)} compared (p at least {p_text(least)})")
        elif open_:
            parts.append(f"no difference is shown against {_list(open_)}")
        found.append(f"Tested, {labels.label(model)}: {'; '.join(parts)}.")
    return found


def _list(claims: list[Claim]) -> str:
    parts = [f"{claim.other} ({EQUALS}{p_text(claim.holm)})" for claim in claims]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _ranks(ranks: Ranks | None) -> list[str]:
    if ranks is None:
        return []
    first = ranks.mean.index[0]
    said = "differ" if ranks.p < LEVEL else "cannot be told apart"
    return [
        f"By mean rank {labels.label(first)} comes first ({ranks.mean.iloc[0]:.1f} of {len(ranks.mean)}). Over all "
        f"models the ranks {said} (Friedman, {EQUALS}{p_text(ranks.p)})."
    ]  # fmt: skip


def p_text(p: float) -> str:
    if p > 0.9995:
        return "1"
    return f"{p:.1e}".replace("e-0", "e-").replace("-", "−") if p < 0.001 else f"{p:.3f}"
