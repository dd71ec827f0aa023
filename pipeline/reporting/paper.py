"""The numbers of the paper's Table 1, by the catalogue's names of the data sets."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from pipeline.config import catalogue
from pipeline.reporting import labels

FILE = Path(__file__).with_name("paper_table1.csv")
MODELS = ("ldep", "linear_svc", "rbf_svc", "mlp", "maxout")


@cache
def table() -> dict[str, dict[str, tuple[float, float]]]:
    """Return {data set: {model: (mean, deviation)}}, accuracies in per cent, as printed."""
    names = {entry.openml_id: name for name, entry in catalogue.load().items()}
    with FILE.open(encoding="utf-8", newline="") as file:
        return {
            names[int(row["openml_id"])]: {
                model: (float(row[f"{model}_mean"]), float(row[f"{model}_std"])) for model in MODELS
            }
            for row in csv.DictReader(file)
        }


def means(datasets: list[str]) -> pd.DataFrame:
    """The means that the paper prints: one row per data set that it has, one column per model of the paper."""
    shared = [name for name in datasets if name in table()]
    columns = {model: [table()[name][model][0] for name in shared] for model in MODELS}
    return pd.DataFrame(columns, index=shared, dtype=float)


def figures(model: str, dataset: str) -> tuple[float, float] | None:
    """The mean and deviation that the paper prints for one of our models, if it has both model and data set."""
    row = table().get(dataset)
    return row[labels.PAPER_COLUMNS[model]] if row and model in labels.PAPER_COLUMNS else None


@dataclass(frozen=True)
class Comparison:
    """One data set and model: our mean and sample deviation of the accuracy in per cent, and the printed ones."""

    dataset: str
    model: str
    mean: float
    std: float
    paper_mean: float
    paper_std: float

    @property
    def mismatches(self) -> list[float]:
        """How far our two numbers are from the printed ones, where they differ after rounding."""
        pairs = [(self.mean, self.paper_mean), (self.std, self.paper_std)]
        return [abs(round(ours, 1) - printed) for ours, printed in pairs if f"{ours:.1f}" != f"{printed:.1f}"]
