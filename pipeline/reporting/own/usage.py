"""Commands with which the registered model can be tried."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from pipeline.reporting.own.dataset_report import DatasetReport


@dataclass(frozen=True)
class Command:
    purpose: str
    text: str


def commands(report: DatasetReport) -> list[Command]:
    """From serving to scoring; empty if the model is not registered."""
    if report.record is None or not report.record.get("registered"):
        return []
    name = shlex.quote(report.name)
    model = f"models:/{report.record['registered']}@champion"
    body = json.dumps({"dataframe_records": [dict(report.example)], "params": {"output": "full"}}, ensure_ascii=False)
    found = [Command("Serve the champion over HTTP.", f"ldep serve {name}")]
    if report.example:
        found.append(
            Command(
                "Ask it about one row. The answer has the class, its probability and, if possible, an explanation.",
                f"curl http://127.0.0.1:5001/invocations -H 'Content-Type: application/json' -d {shlex.quote(body)}",
            )
        )
    found += [
        Command("Score a file with the same columns.", f"ldep score {model} new-rows.csv scored.csv"),
        Command(
            "Use it in Python.",
            "import mlflow\n"
            'mlflow.set_tracking_uri("sqlite:///mlflow.db")\n'
            f'model = mlflow.pyfunc.load_model("{model}")\n'
            "model.predict(rows)  # a DataFrame with the raw columns",
        ),
        Command("Train again after a change in the file or in params.yaml.", "dvc repro"),
    ]
    return found
