"""Explained rows as the page shows them: one bar per column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.reporting.own.dataset_report import DatasetReport

REST = "the others"


@dataclass(frozen=True)
class Part:
    column: str
    value: str
    text: str
    side: str
    """`for` or `against` the predicted class: the colour of the bar."""
    width: int
    """Of the bar, in per cent of its cell; the longest one fills half of it."""


@dataclass(frozen=True)
class ExplainedRow:
    number: int
    truth: str
    predicted: str
    wrong: bool
    parts: list[Part]
    note: str


def explained(report: DatasetReport, kind: str) -> list[ExplainedRow]:
    """The rows of one kind, `typical` or `wrong`."""
    rows = report.examination.get("rows")
    return [_row(row, rows["exact"]) for row in rows[kind]] if rows else []


def note(report: DatasetReport) -> str:
    """How the bars are to be read."""
    rows = report.examination.get("rows") or {}
    start = "Bars to the right speak for the predicted class, bars to the left against it."
    if report.is_binary and report.threshold:
        start += " The rows are judged at the threshold 0, before the choice of another one."
    if rows.get("exact"):
        return f"{start} The parts are exact: they sum to the difference from the average row."
    return (
        f"{start} A bar shows how much the margin falls if this column alone had its average value: an approximation, "
        "because this model has no exact explanation."
    )


def _row(row: Mapping[str, Any], exact: bool) -> ExplainedRow:
    columns = [(item["column"], item["value"], item["part"]) for item in row["columns"]]
    if exact and row["rest"]:
        columns.append((REST, "", row["rest"]))
    longest = max((abs(part) for _, _, part in columns), default=0.0) or 1.0
    parts = [
        Part(
            column=column,
            value=value if len(value) <= 24 else f"{value[:22]}…",
            text=f"{part:+.2f}".replace("-", "−") if abs(part) >= 0.005 else "0.00",
            side="for" if part >= 0 else "against",
            width=round(50 * abs(part) / longest) if longest >= 0.01 else 0,
        )
        for column, value, part in columns
    ]
    text = f"Margin of {row['predicted']} over {row['rival']}: {row['margin']:.2f}"
    if row["start"] is not None:
        text += f"; of the average row: {row['start']:.2f}".replace("-", "−")
        if abs(row["margin"] - row["start"]) < 0.05 * abs(row["margin"]):
            text += ". To the model this row is much like the average row"
    return ExplainedRow(
        row["row"] + 1, row["truth"], row["predicted"], row["truth"] != row["predicted"], parts, f"{text}."
    )
