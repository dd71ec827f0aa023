"""The model of one data set: its curves, its errors, what it looks at, how it is used, and where its limits are."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from markupsafe import Markup

from ldep_pipeline.metrics.metric import METRICS, Metric
from ldep_pipeline.report import figures, labels, page
from ldep_pipeline.report.page import Block, Text, section
from ldep_pipeline.report.renderers import Cell, Column, Table, missing
from ldep_pipeline.report.report_data import DatasetReport

MOST_CLASSES = 20  # of a confusion matrix
REST = "the others"
LONGEST = 24  # characters of a cell


@section("curves", "Curves", DatasetReport)
def curves(report: DatasetReport) -> Iterator[Block | None]:
    drawn = page.figures(figures.of_section("curves", report), "three")
    if drawn is not None:
        yield page.note("Every row was scored by a model that had not seen it.")
        yield drawn


@section("errors", "Errors", DatasetReport)
def errors(report: DatasetReport) -> Iterator[Block | None]:
    table = confusion_table(report)
    if table is not None:
        yield page.note(confusion_note(report))
        yield page.table(table, "table-confusion")


@section("model", "What the winner looks at", DatasetReport)
def looks_at(report: DatasetReport) -> Iterator[Block | None]:
    yield page.figures(figures.of_section("model", report))
    rows = report.examination.get("rows") or {}
    if rows.get("typical") or rows.get("wrong"):
        yield page.note(_rows_note(report))
    for kind, title in (("typical", "Typical rows"), ("wrong", "The clearest mistakes")):
        if rows.get(kind):
            yield page.heading(title)
            cards = Markup("").join(_explained(row, rows["exact"]) for row in rows[kind])
            yield Text(Markup('<div class="row-cards">{}</div>').format(cards))
    for problem in report.examination.get("problems", []):
        yield page.note(f"Not available: {problem}")


def confusion_table(report: DatasetReport) -> Table | None:
    """True classes in rows, predicted classes in columns, counted on rows that the model had not seen."""
    counts = report.confusion
    if counts is None or len(report.classes) > MOST_CLASSES:
        return None
    names, rows = list(report.classes), []
    for place, name in enumerate(names):
        total = int(counts[place].sum())
        cells = [
            Cell(f"{count:,}", int(count), best=place == column, note=labels.percent(count / total) if total else "")
            for column, count in enumerate(counts[place])
        ]
        rows.append([Cell(f"is {name}"), *cells, Cell(f"{total:,}", total)])
    precision = [_share(counts[place, place], counts[:, place].sum()) for place in range(len(names))]
    summary = [[Cell("predictions that are right"), *precision, _share(np.trace(counts), counts.sum())]]
    columns = [Column("", "left"), *(Column(f"predicted {name}") for name in names), Column("rows")]
    return Table(columns, rows, summary)


def confusion_note(report: DatasetReport) -> str:
    text = "True classes in rows, predicted classes in columns, counted on unseen rows; the correct ones are bold."
    if report.positive is None:
        return text
    if report.threshold:
        metric = _threshold_metric(report).noun
        return (
            f"{text} The decision value of a row is compared with a threshold that the other folds have chosen for "
            f"{metric}{_effect(report)}. The threshold of the final model is {report.threshold:.4g}."
        )
    return f"{text} The threshold of the decision value is 0."


def _effect(report: DatasetReport) -> str:
    """What the choice of the threshold gained, if that is known."""
    record, metric = report.record or {}, _threshold_metric(report)
    chosen, default = record.get("metric_at_threshold"), record.get("metric_at_default")
    if chosen is None or default is None:
        return ""
    return f": {metric.text(chosen)}{metric.unit} instead of {metric.text(default)}{metric.unit} at 0"


def _threshold_metric(report: DatasetReport) -> Metric:
    return METRICS[(report.record or {}).get("threshold_metric", report.metric.name)]


def _rows_note(report: DatasetReport) -> str:
    """How the bars are to be read."""
    rows = report.examination.get("rows") or {}
    start = "Bars to the right speak for the predicted class, bars to the left against it."
    if rows.get("exact"):
        return f"{start} The parts are exact: they sum to the difference from the average row."
    return (
        f"{start} A bar shows how much the margin falls if this column alone had its average value: an approximation, "
        "because this model has no exact explanation."
    )


def _explained(row: Mapping[str, Any], exact: bool) -> Markup:
    """A card with one bar per column, for or against the predicted class. The longest fills half of its cell."""
    columns = [(item["column"], item["value"], item["part"]) for item in row["columns"]]
    if exact and row["rest"]:
        columns.append((REST, "", row["rest"]))
    longest = max((abs(part) for _, _, part in columns), default=0.0) or 1.0
    line = Markup(
        '<tr><td class="column">{}</td><td class="cell">{}</td><td class="bar"><span class="{}" style="width:{}%">'
        '</span></td><td class="part">{}</td></tr>\n'
    )
    lines = [
        line.format(
            column,
            value if len(value) <= LONGEST else f"{value[: LONGEST - 2]}…",
            "for" if part >= 0 else "against",
            round(50 * abs(part) / longest) if longest >= 0.01 else 0,
            f"{part:+.2f}".replace("-", "−") if abs(part) >= 0.005 else "0.00",
        )
        for column, value, part in columns
    ]
    text = f"Margin of {row['predicted']} over {row['rival']}: {row['margin']:.2f}"
    if row["start"] is not None:
        text += f"; of the average row: {row['start']:.2f}".replace("-", "−")
        if abs(row["margin"] - row["start"]) < 0.05 * abs(row["margin"]):
            text += ". To the model this row is much like the average row"
    outcome = Markup(" predicted and right")
    if row["truth"] != row["predicted"]:
        outcome = Markup(" predicted, but it is <b>{}</b>").format(row["truth"])
    card = Markup(
        '<div class="row-card">\n<p><b>{}</b>{} <small>row {}</small></p>\n<table class="parts">\n{}</table>\n'
        '<p class="note">{}.</p>\n</div>'
    )
    return card.format(row["predicted"], outcome, row["row"] + 1, Markup("").join(lines), text)


def _share(part: float, total: float) -> Cell:
    return Cell(labels.percent(part / total), float(part / total)) if total else missing()


FEW_ROWS = 500
RARE = 0.1
MANY_GAPS = 0.2


@section("use", "Use it", DatasetReport)
def use(report: DatasetReport) -> Iterator[Block | None]:
    found = commands(report)
    other = other_champion(report)
    if other:
        yield page.paragraph(other)
    for purpose, command in found.items():
        yield page.paragraph(purpose)
        yield page.code(command)
    if not report.has_skill:
        yield page.paragraph(f"There is no champion: {(report.record or {}).get('why')}.")
    elif not found:
        yield page.paragraph(
            f"The model is not registered yet. Run `ldep register {report.name}`, with `tracking.enabled: true` in "
            "params.yaml; the commands to use it then appear here."
        )


@section("limits", "Limits", DatasetReport)
def limits_and_facts(report: DatasetReport) -> Iterator[Block | None]:
    yield page.terms(facts(report))
    yield page.bullets(limits(report), "limits")


def commands(report: DatasetReport) -> dict[str, str]:
    """{purpose: command}, from serving to scoring; empty if the model is not registered."""
    if report.record is None or not report.record.get("registered"):
        return {}
    name, registered, alias = shlex.quote(report.name), report.record["registered"], report.record.get("decision")
    # The commands are about the version of this page, which need not be the champion.
    model = (
        f"models:/{registered}@champion" if report.is_champion else f"models:/{registered}/{report.record['version']}"
    )
    body = json.dumps({"dataframe_records": [dict(report.example)], "params": {"output": "full"}}, ensure_ascii=False)
    found = {"Serve the champion over HTTP.": f"ldep serve {name}"}
    if alias == "challenger":
        found = {"Serve this version, the challenger, over HTTP.": f"ldep serve {name} --alias challenger"}
    elif not report.is_champion:
        found = {}
    if report.example and found:
        purpose = "Ask it about one row. The answer has the class, its probability and, if possible, an explanation."
        address = "http://127.0.0.1:5001/invocations"
        found[purpose] = f"curl {address} -H 'Content-Type: application/json' -d {shlex.quote(body)}"
    return found | {
        "Score a file with the same columns.": f"ldep score {model} new-rows.csv scored.csv",
        "Use it in Python.": "import mlflow\n"
        'mlflow.set_tracking_uri("sqlite:///mlflow.db")\n'
        f'model = mlflow.pyfunc.load_model("{model}")\n'
        "model.predict(rows)  # a DataFrame with the raw columns",
        "Train again after a change in the file or in params.yaml.": "dvc repro",
    }


def other_champion(report: DatasetReport) -> str:
    """Which version serves if it is not that of this page; empty if it is."""
    record = report.record or {}
    if not record.get("registered") or report.is_champion:
        return ""
    start = f"Version {record['version']} of {record['registered']}, which this page is about, is not the champion"
    champion = record.get("champion")
    if not champion:
        return f"{start}, and no version is: `ldep serve` has nothing to serve. {_sentence(record['why'])}"
    serves = f"version {champion['version']}" + (f" ({champion['model']})" if champion["model"] else "")
    return (
        f"{start}: `ldep serve {report.name}` answers with {serves}. {_sentence(record['why'])} "
        f"`ldep register {report.name} --promote` makes this version the champion."
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def facts(report: DatasetReport) -> dict[str, str]:
    """{term: text}."""
    total = report.n_rows
    shares = ", ".join(f"{name} {labels.percent(count / total)}" for name, count in report.classes.items())
    card = {
        "Task": f"predict ‘{report.target}’ ({len(report.classes)} classes: {shares})",
        "Data": f"{report.origin}: {total:,} rows, {labels.count_of(report.n_features, 'feature')}",
        "Evaluation": f"{report.split}; tuning is nested in the training parts",
    }
    record = report.record
    if report.winner is not None and report.has_skill:
        card = {"Model": labels.label(report.winner), **card}
    if record is not None and not report.has_skill:
        card = {"Model": f"none: {record['why']}", **card}
    if record is not None and record.get("settings"):
        card["Settings"] = json.dumps(record["settings"])
    if record is not None and record.get("registered"):
        card["Registered as"] = f"{record['registered']}, version {record['version']} ({record['decision']})"
        card["Reason"] = str(record["why"])
    for number, promise in enumerate((record or {}).get("promises", []), 1):
        card[f"Promise {number}"] = f"{'kept' if promise['kept'] else 'not kept'}: {promise['why']}"
    if report.threshold:
        card["Threshold"] = f"decision value {report.threshold:.4g}, chosen for {report.metric.noun}"
    return card


def limits(report: DatasetReport) -> list[str]:
    """What the numbers do not show, and when the model should not be used."""
    total = report.n_rows
    rarest = report.rarest
    sentences = []
    if len(report.ranked) > 1:
        sentences.append(
            f"The winner was chosen among {len(report.ranked)} models by the same folds that measure it, so its score "
            "is slightly optimistic. Rows that took no part in the choice give an unbiased one."
        )
    if total < FEW_ROWS:
        sentences.append(f"{total} rows are few: read every number together with its interval.")
    if report.classes[rarest] / total < RARE:
        sentences.append(
            f"The class ‘{rarest}’ has {report.classes[rarest]:,} rows "
            f"({labels.percent(report.classes[rarest] / total)}): accuracy says little, and numbers about this class "
            "rest on few rows."
        )
    sentences += _about_columns(report)
    sentences += [
        "The folds say how good the model is on rows like these. If customers, machines or habits change, it gets "
        "worse without notice: check new files from time to time, and train again.",
        "A category that training did not contain counts as missing, and numbers outside the range of the training "
        "rows are extrapolated.",
        "Importance and explanations say what the model does, not what causes the outcome.",
        "The section on groups shows differences between them, and not what causes them: a fair model needs more."
        if report.grouped
        else "Fairness was not examined. If decisions affect people, compare groups first: `own_data."
        f"{report.name}.groups` names their columns.",
    ]
    return sentences


def _about_columns(report: DatasetReport) -> list[str]:
    if not report.profile:
        return []
    sentences = []
    used = [column for column in report.profile["columns"] if not column.get("drop")]
    gaps = [column["name"] for column in used if column["missing"] > MANY_GAPS * report.profile["rows"]]
    if gaps:
        sentences.append(f"Many cells are missing in {', '.join(gaps)}; they were filled with typical values.")
    for column in used:
        if any("separates the classes" in remark for remark in column.get("remarks", ())):
            sentences.append(
                f"The column ‘{column['name']}’ alone almost decides the class. If its value is known only after the "
                "outcome, every number here is too good: leave the column out and train again."
            )
    if report.profile.get("repeated"):
        sentences.append(
            f"{labels.count_of(report.profile['repeated'], 'row')} repeat an earlier row. Copies in both parts of a "
            "split make the score too good."
        )
    return sentences


def markdown(report: DatasetReport) -> str:
    """The card as a text file."""
    lines = [f"# Model card: {report.name}", ""]
    lines += [f"- **{term}**: {text}" for term, text in facts(report).items()]
    scores, metric = report.winning_scores, report.metric
    if scores is not None:
        interval = f", 95 % interval {report.interval_text(scores)}" if scores.interval is not None else ""
        lines.append(f"- **{metric.noun}**: {metric.text(scores.mean)}{metric.unit}{interval} ({metric.meaning})")
    return "\n".join([*lines, "", "## Limits", "", *(f"- {sentence}" for sentence in limits(report)), ""])
