"""Which model is best: leaderboards, comparisons of the models, and the same by every other metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd

from ldep_pipeline.metrics.metric import METRICS, Metric
from ldep_pipeline.report import figures, labels, page
from ldep_pipeline.report.comparison import BETTER, WORSE, Lead, ModelComparison
from ldep_pipeline.report.labels import FAMILIES, FORMS, KINDS, duration_cell, listed, model_cell, p_text
from ldep_pipeline.report.page import Block, Panel, section
from ldep_pipeline.report.renderers import (
    MISSING,
    Cell,
    Column,
    Filled,
    Style,
    Table,
    left,
    missing,
    number,
    of_columns,
    right,
)
from ldep_pipeline.report.report_data import DatasetReport, ReportData
from ldep_pipeline.report.scores import FoldScores, Scores

MOST_OTHER_METRICS = 4  # beside the chosen one, in the leaderboard of one data set


@section("leaderboard", "Leaderboard", DatasetReport)
def of_dataset(report: DatasetReport) -> Iterator[Block | None]:
    metric, noun = report.metric, report.metric.noun
    direction = "higher" if metric.higher_is_better else "lower"
    intervals = ", with 95 % intervals that allow for the overlap of the training parts (Nadeau and Bengio)"
    with_intervals = intervals if any(scores.interval for scores in report.ranked) else ""
    title = f"{noun[0].upper()}{noun[1:]}: {metric.meaning}; {direction} is better."
    yield page.note(f"{title} Means over the test parts{with_intervals}.")
    yield page.table(dataset_table(report), "table-leaderboard")
    untuned = [labels.label(scores.model) for scores in report.leaderboard if not scores.trials]
    if untuned and len(untuned) < len(report.leaderboard):
        text = (
            "The families did not get the same budget. Without tuning in the folds, with the settings of params.yaml: "
        )
        yield page.sentence_with_names(text, untuned)
        yield page.note(
            "Tuned, they may be better. A self-tuning ℓ-DEP chooses its settings inside each fit. `--suite full` of "
            "`ldep new` tunes more families, and any entry of `classifiers` with a search is tuned."
        )
    yield page.figures(figures.of_section("leaderboard", report))


@section("comparison", "Is the winner better?", DatasetReport)
def of_winner(report: DatasetReport) -> Iterator[Block | None]:
    leads = leads_table(report)
    if leads is not None:
        yield page.note(
            f"{labels.label(str(report.winner))} against each other model, fold by fold. The intervals come from the "
            "corrected resampled t-test of Nadeau and Bengio, and all of them together hold with 95 % confidence. A "
            "difference is clear if its interval does not contain zero."
        )
        yield page.table(leads, "table-comparisons")


@section("tests", "Statistical tests", ReportData)
def tests(data: ReportData) -> Iterator[Block | None]:
    claims = claims_table(data)
    if claims is not None:
        of_paper = "The paper's best model per data set is the best of its five, chosen anew for each data set."
        sign = of_paper if data.metric.is_accuracy else "A positive difference means that our model is better."
        yield page.note(
            "Two-sided Wilcoxon signed-rank tests over the data sets, with Pratt's treatment of ties. The p-values are "
            "corrected together by Holm's method; a difference is significant if the corrected p is below 0.05. "
            "P(better), P(equal) and P(worse) come from the Bayesian signed-rank test, in which differences of at most "
            f"{data.metric.equal_gain_text} count as equal; they are not corrected. {sign} Wins, ties and losses "
            "compare the printed means."
        )
        yield page.table(claims, "table-claims")
    yield from _friedman(data)
    yield page.figures(figures.of_section("tests", data))


@section("results", "Scores and time", ReportData)
def results(data: ReportData) -> Iterator[Block | None]:
    drawn = page.figures(figures.of_section("results", data))
    if drawn is not None:
        shown = {labels.family(model) for model in data.scores.models}
        yield page.keys({name: text for name, text in FAMILIES.items() if name in shown})
        yield drawn


@section("training", "Tuning and training", ReportData)
def training(data: ReportData) -> Iterator[Block | None]:
    yield page.figures(figures.of_section("training", data))


@section("metrics", "All metrics", ReportData)
def by_every_metric(data: ReportData) -> Iterator[Block | None]:
    yield page.table(metrics_table(data), "table-metrics")
    yield page.note(
        f"{metrics_note([data.metric, *data.other_metrics])} A "
        "dash: the model lacks this value on some data set. An SVC has no probabilities, and a model that is not tuned "
        "has no tuning time."
    )
    if data.other_metrics:
        yield page.heading("The models compared by each of them")
        for metric in data.other_metrics:
            blocks = [block for block in _panel(data.by(metric)) if block is not None]
            first = first_three(data.by(metric).scores)
            yield Panel(f"by-{metric.name}", metric.title, first, blocks)
        yield page.note(
            "Each line opens the leaderboard by one measure, with the same tests as above, and names its best three. "
            "`ldep report --metric NAME` makes the whole page for it."
        )


def metrics_note(metrics: Sequence[Metric]) -> str:
    """In which units the values of these metrics are shown, and of which less is better."""
    others = [metric.noun for metric in metrics if not (metric.is_time or metric.is_share)]
    losses = [metric.noun for metric in metrics if not (metric.is_time or metric.higher_is_better)]
    return (
        f"Means over the data sets and folds: metrics in per cent{f', except {listed(others)}' if others else ''}; "
        "CPU time of a fit and of the tuning of a fold, and time to predict its test rows. Less is better for "
        f"{listed([*losses, 'times'])}."
    )


def _panel(data: ReportData) -> Iterator[Block | None]:
    yield page.table(models_table(data), f"table-models-{data.metric.name}")
    yield from _friedman(data)
    yield page.figures(figures.by_another_metric(data))
    claims = page.table(claims_table(data), f"table-claims-{data.metric.name}")
    if claims is not None:
        yield page.heading("Each comparison")
        yield claims


def summarised(data: ReportData) -> Iterator[Block | None]:
    """The blocks of the summary: the families in their forms, and all models."""
    metric, forms = data.metric, forms_table(data)
    if forms is not None:
        in_unit = " in per cent" if metric.is_share else ""
        yield page.heading("Every family with defaults, tuned, and tuned and ensembled")
        yield page.table(forms, "table-forms")
        yield page.note(
            f"Mean {metric.noun}{in_unit} over the data sets, mean rank among all models of the report, and CPU time "
            "of tuning and fits over all folds. Ensembles are selected greedily from the models that tuning has "
            "fitted, the same way for all families. Bold: the best of its form."
        )
        yield page.heading("All models")
    yield page.table(models_table(data), "table-models")
    like_mean = ", in per cent like the mean" if metric.is_share else ""
    spread = "" if metric.is_time else f"± is the population deviation over the data sets{like_mean}. "
    less = "" if metric.higher_is_better else "Less is better. "
    yield page.note(
        f"{spread}{less}“Best on” counts the data sets on which no other model has a better printed mean. The "
        "self-tuning ℓ-DEP chooses its settings inside each fit, so its fitting time includes that."
    )


def first_three(scores: Scores) -> str:
    """The best three models by their mean, with it."""
    best = scores.best_first()[:3]
    return ", ".join(f"{labels.label(str(model))} {scores.metric.shown(mean)}" for model, mean in best.items())


def _friedman(data: ReportData) -> Iterator[Block]:
    ranks = data.ranks
    if ranks is None:
        yield page.paragraph("The ranks are not tested: this needs at least three models and two data sets.")
    else:
        yield page.paragraph(
            f"Friedman's test over {len(ranks.mean)} models and {ranks.datasets} data sets: χ² = "
            f"{ranks.statistic:.1f}, p\u00a0=\u00a0{p_text(ranks.p)}. By Nemenyi's test, two mean ranks differ "
            f"significantly if they are at least {ranks.critical_difference:.2f} apart."
        )
    if data.scores.incomplete:
        why = f" ({data.metric.requirement})" if data.metric.requirement else ""
        names = [labels.label(model) for model in data.scores.incomplete]
        yield page.sentence_with_names(f"Not ranked, because they lack a value on some data set{why}: ", names)


def models_table(data: ReportData) -> Table | None:
    """One row per model, the best mean first: its scores, rank and cost over all data sets."""
    scores, metric, ranks, repeats = data.scores, data.metric, data.ranks, data.means_of_repeats
    summary, wins = scores.over_datasets(), scores.best().sum()
    summary = summary.loc[metric.best_first(summary["mean"]).index]
    summary = summary.sort_values("datasets", ascending=False, kind="stable")

    def mean(model: str) -> Cell:
        row, count = summary.loc[model], int(summary.loc[model, "datasets"])
        if not count:
            return missing("failed" if scores.failed[model].any() else MISSING)
        note = "" if count == len(scores.datasets) else f"on {labels.count_of(count, 'data set')}"
        return Cell(metric.shown(row["mean"], row["std"]), row["mean"], note=note)

    def of_repeats(model: str) -> Cell:
        assert repeats is not None
        if model not in repeats:
            return missing()
        low, high = float(repeats[model].min()), float(repeats[model].max())
        return Cell(f"{metric.shown(low)} to {metric.shown(high)}", float(repeats[model].mean()))

    def median(model: str) -> Cell:
        value = summary.loc[model, "median"]
        return missing("") if pd.isna(value) else Cell(metric.shown(value), value)

    columns = [left("Model", model_cell), right(f"Mean {metric.noun}", mean)]
    if repeats is not None:
        columns.append(right(f"Lowest to highest of {len(repeats)} repeats", of_repeats))
    return of_columns(
        summary.index,
        *columns,
        right("Median", median),
        right("Mean rank", lambda model: number(ranks.mean.get(model) if ranks is not None else None)),
        right("Best on", lambda model: number(wins[model] if summary.loc[model, "datasets"] else None, 0)),
        right("CPU time, fits", lambda model: duration_cell(data.costs["fitting"][model])),
        right("CPU time, tuning", lambda model: duration_cell(data.costs["tuning"][model])),
    )


def dataset_table(report: DatasetReport) -> Table | None:
    """One row per model, the best first: the chosen metric with its interval, some others, and the time."""
    chosen = report.metric
    others = [metric for metric in METRICS.values() if metric is not chosen and _has_values(report, metric)]

    def model(scores: FoldScores) -> Cell:
        return Cell(labels.label(scores.model), note="winner" if scores.model == report.winner else "")

    def score(scores: FoldScores) -> Cell:
        if scores.problem is not None:
            return missing(scores.problem)
        is_best = bool(report.ranked) and chosen.text(scores.mean) == chosen.text(report.ranked[0].mean)
        return Cell(chosen.text(scores.mean), scores.mean, best=is_best, note=report.interval_text(scores))

    def other_mean(metric: Metric, scores: FoldScores) -> Cell:
        value = scores.other_means.get(metric.name)
        return missing() if value is None or np.isnan(value) else Cell(metric.text(value), value)

    return of_columns(
        report.leaderboard,
        left("Model", model),
        right(chosen.noun + chosen.unit, score),
        *(right(metric.noun + metric.unit, partial(other_mean, metric)) for metric in others[:MOST_OTHER_METRICS]),
        right("CPU time, fits", lambda scores: duration_cell(scores.fit_seconds)),
        right("CPU time, tuning", lambda scores: duration_cell(scores.tune_seconds)),
        with_empty=False,
    )


def _has_values(report: DatasetReport, metric: Metric) -> bool:
    return any(np.isfinite(scores.other_means.get(metric.name, np.nan)) for scores in report.leaderboard)


def forms_table(data: ReportData) -> Table | None:
    """One row per family that has more than one form, the best form of each first: mean, rank, CPU time."""
    means = data.scores.best_first()
    places = {model: place for place, model in enumerate(means.index)}
    families: dict[str, dict[str, str]] = {}
    for model in data.scores.complete:
        family, form = labels.form_of(model)
        if family is not None:
            families.setdefault(family, {})[form] = model
    several = {family: models for family, models in families.items() if len(models) > 1}
    columns = [left("Family", lambda family: Cell(KINDS[family], family=labels.family(family)))]
    for form in FORMS:
        models = [models[form] for models in several.values() if form in models]
        best = min(models, key=places.__getitem__, default=None)
        columns += _form_columns(form, several, best, means, data)
    return of_columns(sorted(several, key=lambda one: min(places[model] for model in several[one].values())), *columns)


def _form_columns(
    form: str, several: dict[str, dict[str, str]], best: str | None, means: pd.Series, data: ReportData
) -> list[Filled]:
    metric = data.metric

    def mean(family: str) -> Cell:
        if form not in several[family]:
            return missing()
        value = float(means[several[family][form]])
        return Cell(metric.shown(value), value, metric.printed(value) == metric.printed(means[best]))

    def rank(family: str) -> Cell:
        model = several[family].get(form)
        if model is None:
            return missing("")
        return number(data.ranks.mean.get(model) if data.ranks is not None else None)

    def seconds(family: str) -> Cell:
        model = several[family].get(form)
        return missing("") if model is None else duration_cell(float(data.costs["total"][model]))

    return [right(form.capitalize(), mean), right("rank", rank), right("CPU time", seconds)]


def metrics_table(data: ReportData) -> Table:
    """One row per model, the best by the metric of the report first: its mean by every metric."""
    shown = [data.metric, *data.other_metrics]
    means = {metric.name: data.by(metric).scores.best_first() for metric in shown}

    def mean(metric: Metric, model: str) -> Cell:
        values = means[metric.name]
        if model not in values:
            return missing()
        is_best = metric.printed(values[model]) == metric.printed(values.iloc[0])
        return Cell(metric.shown(values[model]), float(values[model]), is_best)

    first = list(means[data.metric.name].index)
    models = [*first, *(model for model in data.scores.models if model not in first)]
    rows = [[model_cell(model), *(mean(metric, model) for metric in shown)] for model in models]
    return Table([Column("Model", "left"), *(Column(metric.title) for metric in shown)], rows)


def claims_table(data: ReportData) -> Table | None:
    """One row per tested claim about our models."""
    metric = data.metric
    return of_columns(
        data.claims,
        left("Model", lambda claim: model_cell(claim.ours)),
        left("Compared with", lambda claim: Cell(claim.other)),
        right("Data sets", lambda claim: number(claim.datasets, 0)),
        right(
            "Times as fast" if metric.is_time else "Mean difference",
            lambda claim: Cell(metric.gain_text(claim.difference), claim.difference),
        ),
        right("Wins", lambda claim: number(claim.wins, 0)),
        right("Ties", lambda claim: number(claim.ties, 0)),
        right("Losses", lambda claim: number(claim.losses, 0)),
        right("p", lambda claim: Cell(p_text(claim.p), claim.p)),
        right("p, corrected", lambda claim: Cell(p_text(claim.holm), claim.holm)),
        right("P(better), %", lambda claim: number(100 * claim.posterior.better, 0)),
        right("P(equal), %", lambda claim: number(100 * claim.posterior.equal, 0)),
        right("P(worse), %", lambda claim: number(100 * claim.posterior.worse, 0)),
        right("Verdict", _verdict),
    )


def leads_table(report: DatasetReport) -> Table | None:
    """One row per other model: how far the winner is ahead, and whether that is clear."""
    metric = report.metric

    def gain(value: float) -> str:
        return metric.gain_text(metric.factor * value)

    def interval(lead: Lead) -> Cell:
        if lead.interval is None:
            return missing("the same in every fold")
        return Cell(" to ".join(map(gain, lead.interval)), lead.interval[0])

    unit = ", points" if metric.is_share else ""
    return of_columns(
        report.comparisons,
        left("Compared with", lambda lead: Cell(labels.label(lead.other))),
        right(f"Lead of the winner{unit}", lambda lead: Cell(gain(lead.difference), lead.difference)),
        right("Interval", interval),
        right("Folds won", lambda lead: number(lead.wins, 0)),
        right("Folds lost", lambda lead: number(lead.losses, 0)),
        right("The winner is", _verdict),
    )


def _verdict(comparison: ModelComparison) -> Cell:
    styles: dict[str, Style] = {BETTER: "good", WORSE: "bad"}
    return Cell(comparison.verdict, style=styles.get(comparison.verdict, "neutral"))
