"""How the registered model of one data set is used, and its card: what it is, and where its limits are."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from ldep_pipeline.report import labels, page
from ldep_pipeline.report.page import Block, section
from ldep_pipeline.report.report_data import DatasetReport

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
        "Fairness was not examined. If decisions affect people, compare the errors between groups first.",
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
