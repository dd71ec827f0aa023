"""The first section of a page: the numbers that most readers come for, what they show, and what they cannot show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ldep_pipeline.report import labels, page, paper
from ldep_pipeline.report.comparison import BETTER, EQUAL, LEVEL, UNDECIDED, WORSE, Claim, Lead, Ranks, smallest_p
from ldep_pipeline.report.labels import OURS, REPRODUCED, p_text
from ldep_pipeline.report.page import Block, Card, section
from ldep_pipeline.report.report_data import DatasetReport, ReportData
from ldep_pipeline.report.scores import Scores
from ldep_pipeline.report.sections import leaderboard, winner

P_EQUALS = "p\u00a0=\u00a0"  # non-breaking spaces
MOST_NAMED = 3  # models from which ours does not differ; the page has a table of all tests
MANY = 5  # names in one sentence
RARE_SHARE = 0.5  # a class with less than this part of its even share of the rows is rare
MORE_FOLDS = " More folds or repeats (split.folds, split.repeats) may decide."
_SAMPLE = "The tests treat the data sets as a random sample of all data sets"


@section("summary", "Summary", ReportData)
def of_catalogue(data: ReportData) -> Iterator[Block | None]:
    yield page.cards(catalogue_cards(data))
    yield page.bullets(findings(data))
    yield page.heading("What this report cannot show")
    yield page.bullets(limits(data), "limits")
    yield from leaderboard.summarised(data)


@section("summary", "Summary", DatasetReport)
def of_dataset(report: DatasetReport) -> Iterator[Block | None]:
    if not report.has_skill:
        yield page.heading("No model beats guessing")
        yield page.paragraph(_no_skill(report))
        yield page.bullets(_to_try(report))
    yield page.cards(dataset_cards(report))
    yield page.bullets(dataset_findings(report))


def catalogue_cards(data: ReportData) -> list[Card]:
    """Our models, the best of the others and, by accuracy, the paper's ℓ-DEP and best model."""
    metric, means = data.metric, data.scores.best_first()
    unit = metric.unit if metric.is_share else ""

    def card(model: str, note: str) -> Card:
        return Card(labels.label(model), metric.shown(means[model]), unit, note, labels.family(model))

    chosen = [card(model, f"mean {metric.noun}") for model in OURS if model in means]
    others = [str(model) for model in means.index if labels.family(str(model)) != "ldep"]
    if others:
        chosen.append(card(others[0], "best of the other models"))
    printed = paper.means(data.scores.datasets)
    if metric.is_accuracy and len(printed) and len(printed) == len(data.scores.datasets):
        chosen.append(Card("ℓ-DEP", metric.shown(printed["ldep"].mean()), unit, "in the paper"))
        best = str(printed.mean().idxmax())
        if best != "ldep":
            chosen.append(Card(labels.label(best), metric.shown(printed[best].mean()), unit, "best model in the paper"))
    return chosen


def dataset_cards(report: DatasetReport) -> list[Card]:
    """The winner, the runner-up, the score without a model, and the rarest class."""
    metric, scores, chosen = report.metric, report.winning_scores, []
    if scores is not None:
        interval = report.interval_text(scores)
        note = f"{metric.noun}, {interval}" if interval else metric.noun
        chosen.append(Card(labels.label(scores.model), metric.text(scores.mean), metric.unit, note, "ldep"))
        for other in report.others[:1]:
            chosen.append(Card(labels.label(other.model), metric.text(other.mean), metric.unit, "best of the others"))
    without = report.guessing
    if without is not None:
        note = "always the most frequent class" if metric.is_accuracy else "guessing"
        chosen.append(Card("No model", metric.text(without), metric.unit, note))
    share = report.classes[report.rarest] / report.n_rows
    chosen.append(Card(f"‘{report.rarest}’", f"{100 * share:.1f}", " %", "of the rows, the rarest class"))
    return chosen


def findings(data: ReportData) -> list[str]:
    """What the results show."""
    return [*_means(data.scores), *_stability(data), *_verdicts(data.claims), *_ranks(data.ranks)]


def limits(data: ReportData) -> list[str]:
    """What the results cannot show."""
    sentences = _power(data.claims)
    datasets = data.scores.datasets
    if any(name in paper.table() for name in datasets):
        if data.metric.is_accuracy:
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
    sentences = [f"Best mean {scores.metric.noun} on {where}: {leaderboard.first_three(scores)}."]
    ours = [model for model in (*OURS, REPRODUCED) if model in scores.complete]
    if len(paper.means(scores.datasets)) and ours and scores.metric.is_accuracy:
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
    if means is None or len(means.columns) < 3:
        return []
    order = list(data.scores.best_first().index[:3])
    orders = [list(data.metric.best_first(means.loc[repeat]).index[:3]) for repeat in means.index]
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
    for model in OURS:
        tested = [claim for claim in claims if claim.ours == model]
        if not tested:
            continue
        parts = []
        for verdict, words in ((BETTER, "significantly better than"), (WORSE, "significantly worse than")):
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


def dataset_findings(report: DatasetReport) -> list[str]:
    if report.winning_scores is None:
        return ["No model has a result on every fold. The section on failed fits gives the reasons."]
    if not report.has_skill:
        return [f"No model beats guessing, and none is registered. {_winner(report)}"]
    other = winner.other_champion(report)
    return [
        _winner(report),
        *([other] if other else []),
        *_leads(report),
        *_errors(report),
        *_columns(report),
        *_more_rows(report),
    ]


def _no_skill(report: DatasetReport) -> str:
    assert report.record is not None
    return (
        f"Nothing was registered, so there is nothing to serve: {report.record['why']}. The numbers below show what "
        "the models did."
    )


def _to_try(report: DatasetReport) -> list[str]:
    """What was left out, and what may help."""
    columns = (report.profile or {}).get("columns", [])
    dropped = [f"‘{column['name']}’ ({column['drop']})" for column in columns if column.get("drop")]
    sentences = []
    if dropped:
        sentences.append(
            f"{labels.count_of(len(dropped), 'column')} took no part: {_joined(dropped)}. If one of them says "
            f"something about ‘{report.target}’, declare how to read it under `own_data.{report.name}` in params.yaml."
        )
    if report.metric.is_accuracy and report.classes[report.rarest] < RARE_SHARE * report.n_rows / len(report.classes):
        sentences.append(
            f"The class ‘{report.rarest}’ is rare, so that accuracy hardly rewards finding it. Compare by another "
            "metric: `ldep set metric=average_precision`, or `balanced_accuracy`."
        )
    sentences.append(
        f"Try more rows, or columns that are closer to what decides ‘{report.target}’. Check also that the target is "
        "in the right rows: a join that shuffles it looks exactly like this."
    )
    sentences.append(
        f"`ldep register {report.name} --promote` registers the best model all the same, for a test of what follows."
    )
    return sentences


def _winner(report: DatasetReport) -> str:
    scores, metric = report.winning_scores, report.metric
    assert scores is not None
    verb = "wins with" if report.has_skill else "is the best with"
    text = f"{labels.label(scores.model)} {verb} {metric.noun} {metric.text(scores.mean)}{metric.unit}"
    if scores.interval is not None:
        text += f" (95 % interval {report.interval_text(scores)})"
    if report.guessing is not None:
        text += f"; without looking at any column one reaches {metric.text(report.guessing)}{metric.unit}"
    best = report.ranked[0]
    if best.model != scores.model:
        text += f". {labels.label(best.model)} has {metric.text(best.mean)}{metric.unit}, which counts as equal: "
        text += "of equal models, the simplest that explains its decisions is chosen"
    return f"{text}."


def _leads(report: DatasetReport) -> list[str]:
    if not report.comparisons:
        return []
    better = [lead for lead in report.comparisons if lead.verdict == BETTER]
    worse = [lead for lead in report.comparisons if lead.verdict == WORSE]
    unclear = [lead for lead in report.comparisons if lead.verdict not in (BETTER, WORSE)]
    sentences = []
    if better:
        sentences.append(f"It is clearly better than {_names(better)}.")
    if worse:
        sentences.append(f"It is clearly worse than {_names(worse)}.")
    if len(unclear) == len(report.comparisons):
        sentences.append(f"It does not differ clearly from any other model on these folds.{MORE_FOLDS}")
    elif unclear:
        advice = "" if len(better) > len(unclear) else MORE_FOLDS
        sentences.append(f"From {_names(unclear)} it does not differ clearly on these folds.{advice}")
    return sentences


def _errors(report: DatasetReport) -> list[str]:
    counts = report.confusion
    if counts is None or report.positive is None:
        return []
    names = list(report.classes)
    place = names.index(report.positive)
    found, actual, alarms = counts[place, place], counts[place].sum(), counts[:, place].sum()
    if not alarms:
        return [f"At its threshold it never predicts ‘{report.positive}’: choose another metric to find these rows."]
    return [
        f"At its threshold it finds {found:,} of {actual:,} rows of the class ‘{report.positive}’, and "
        f"{labels.percent(found / alarms)} of its {alarms:,} predictions of that class are right."
    ]


def _columns(report: DatasetReport) -> list[str]:
    importance = report.examination.get("importance")
    if not importance:
        return []
    first = [column for column, value in list(importance["columns"].items())[:3] if value > 0]
    return [f"It looks most at {_joined(first)}."] if first else []


def _more_rows(report: DatasetReport) -> list[str]:
    """Whether more rows would help, if the interval of the last step of the learning curve says so."""
    points, metric = report.learning_curve, report.metric
    if not points:
        return []
    (gain, interval), steps = report.last_gain, f"from {points[-2]['rows']:,} to {points[-1]['rows']:,} training rows"
    if interval is None:
        return []

    def shown(value: float) -> str:
        return metric.gain_text(metric.factor * value)

    unit = " points" if metric.is_share else ""
    measured = (
        f"{steps} the score changed by {shown(gain)}{unit} (95 % interval {shown(interval[0])} to {shown(interval[1])})"
    )
    small = metric.equal_gain / metric.factor
    if interval[0] > 0 and gain > small:
        return [f"More rows would probably help: {measured}."]
    if interval[1] < 2 * small:
        return [f"More rows of the same kind would probably change little: {measured}."]
    return [f"Whether more rows would help cannot be said: {measured}."]


def _names(leads: Sequence[Lead]) -> str:
    names = [labels.label(lead.other) for lead in leads]
    if len(names) > MANY:
        return f"{len(names)} of the other models"
    return _joined(names)


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
