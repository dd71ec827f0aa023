"""The model card: what the registered model is, what it was trained on, and where its limits are."""

from __future__ import annotations

import json

from pipeline.reporting import labels
from pipeline.reporting.own.dataset_report import DatasetReport

FEW_ROWS = 500
RARE = 0.1
MANY_GAPS = 0.2


def facts(report: DatasetReport) -> dict[str, str]:
    """{term: text}."""
    total = sum(report.classes.values())
    shares = ", ".join(f"{name} {labels.percent(count / total)}" for name, count in report.classes.items())
    card = {
        "Task": f"predict ‘{report.target}’ ({len(report.classes)} classes: {shares})",
        "Data": f"{report.origin}: {total:,} rows, {labels.count_of(report.n_features, 'feature')}",
        "Evaluation": f"{report.split}; tuning is nested in the training parts",
    }
    record = report.record
    if report.winner is not None:
        card = {"Model": labels.label(report.winner), **card}
    if record is not None and record.get("settings"):
        card["Settings"] = json.dumps(record["settings"])
    if record is not None and record.get("registered"):
        card["Registered as"] = f"{record['registered']}, version {record['version']} ({record['decision']})"
        card["Reason"] = str(record["why"])
    if report.is_binary and report.threshold:
        card["Threshold"] = f"decision value {report.threshold:.4g}, chosen for {report.metric.title}"
    return card


def limits(report: DatasetReport) -> list[str]:
    """What the numbers do not show, and when the model should not be used."""
    total = sum(report.classes.values())
    rarest = min(report.classes, key=lambda name: report.classes[name])
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
    gaps = [column["name"] for column in used if column["gaps"] > MANY_GAPS * report.profile["rows"]]
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
    entry, metric = report.winning_entry, report.metric
    if entry is not None:
        interval = (
            ""
            if entry.low is None or entry.high is None
            else (f", 95 % interval {metric.text(entry.low)} to {metric.text(entry.high)}")
        )
        lines.append(f"- **{metric.title}**: {metric.text(entry.mean)}{metric.unit}{interval} ({metric.meaning})")
    return "\n".join([*lines, "", "## Limits", "", *(f"- {sentence}" for sentence in limits(report)), ""])
