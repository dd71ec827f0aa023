"""The numbers of the paper's Table 1, by the catalogue's names."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pipeline.config import catalogue

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


@dataclass(frozen=True)
class Comparison:
    """One set and model: mean and sample deviation of the accuracy in per cent, and the printed ones."""

    name: str
    source: str
    model: str
    mean: float
    std: float
    paper_mean: float
    paper_std: float

    @property
    def off(self) -> list[float]:
        """The differences of the two rounded numbers, where they differ."""
        pairs = [(self.mean, self.paper_mean), (self.std, self.paper_std)]
        return [abs(round(ours, 1) - theirs) for ours, theirs in pairs if f"{ours:.1f}" != f"{theirs:.1f}"]
