"""The numbers of the paper's Table 1, by the catalogue's names."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

from pipeline import catalogue

FILE = Path(__file__).with_name("paper_table1.csv")
MODELS = ("ldep", "linear_svc", "rbf_svc", "mlp", "maxout")


@cache
def table() -> dict[str, dict[str, tuple[float, float]]]:
    """Return {set: {model: (mean, deviation)}}, accuracies in per cent, as printed."""
    names = {entry.openml_id: name for name, entry in catalogue.load().items()}
    with FILE.open(encoding="utf-8", newline="") as lines:
        return {
            names[int(row["openml_id"])]: {
                model: (float(row[f"{model}_mean"]), float(row[f"{model}_std"])) for model in MODELS
            }
            for row in csv.DictReader(lines)
        }
