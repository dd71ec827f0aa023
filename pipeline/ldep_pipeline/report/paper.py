"""The numbers of the paper's Table 1, what a reproduction of them should reach, and what these results reach."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from ldep_pipeline.data import catalogue
from ldep_pipeline.report import labels
from ldep_pipeline.report.labels import BASELINES, OURS, PAPER_COLUMNS, REPRODUCED
from ldep_pipeline.report.scores import Scores

FILE = Path(__file__).with_name("paper_table1.csv")
MODELS = ("ldep", "linear_svc", "rbf_svc", "mlp", "maxout")
MLP_POINTS = 1.5  # how far a mean of the MLP may be from the paper's
DEVIATIONS = 1.5  # how many of the paper's deviations a mean of the ℓ-DEP may be off
MEAN_POINTS = 0.3  # how far the mean of the ℓ-DEP over the data sets may be from the paper's
SLACK = 1e-9  # of a comparison of rounded numbers


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
    return row[PAPER_COLUMNS[model]] if row and model in PAPER_COLUMNS else None


@dataclass(frozen=True)
class Reproduction:
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


@dataclass(frozen=True)
class Target:
    """One target. `reached` is None where it is about the paper's 30 data sets and some are missing."""

    what: str
    goal: str
    measured: str
    reached: bool | None


@dataclass(frozen=True)
class Outlier:
    """A data set on which `ldep_paper` differs from the paper's ℓ-DEP by more than `DEVIATIONS` allows."""

    row: Reproduction
    solver: str

    @property
    def difference(self) -> float:
        return self.row.mean - self.row.paper_mean


def targets(accuracies: Scores) -> list[Target]:
    """Every target that these models and data sets say something about."""
    mlp = f"The paper's MLP column, within {MLP_POINTS} points"
    ldep = f"The paper's ℓ-DEP column, within {DEVIATIONS} of the paper's deviations"
    return [
        *_svc(accuracies),
        *_column(accuracies, "mlp", mlp, 27, lambda row: abs(row.mean - row.paper_mean) <= MLP_POINTS + SLACK),
        *_column(accuracies, REPRODUCED, ldep, 29, _is_near),
        *_mean(accuracies),
        *_means(accuracies),
    ]


def outliers(accuracies: Scores, results: pd.DataFrame) -> list[Outlier]:
    """Each larger difference of `ldep_paper`, with the solver that produced our number."""
    solver = solvers(results, REPRODUCED)
    return [Outlier(row, solver[row.dataset]) for row in comparisons(accuracies, REPRODUCED) if not _is_near(row)]


def solvers(results: pd.DataFrame, model: str) -> dict[str, str]:
    """{data set: solver} of a model; both names, with a plus, where its folds differ."""
    fits = results[(results["model"] == model) & (results["status"] != "failed")]
    return {name: " + ".join(sorted(set(rows["solver"]))) for name, rows in fits.groupby("dataset", sort=False)}


def comparisons(accuracies: Scores, model: str) -> list[Reproduction]:
    """Our numbers beside the paper's, for the data sets on which both have this model."""
    if model not in accuracies.models:
        return []
    compared = []
    for dataset in accuracies.datasets:
        mean, std = float(accuracies.mean.loc[dataset, model]), float(accuracies.std.loc[dataset, model])
        printed = figures(model, dataset)
        if printed is not None and not pd.isna(mean):
            compared.append(Reproduction(dataset, model, mean, std, *printed))
    return compared


def _svc(accuracies: Scores) -> list[Target]:
    rows = [*comparisons(accuracies, "linear_svc"), *comparisons(accuracies, "rbf_svc")]
    if not rows:
        return []
    mismatches = [difference for row in rows for difference in row.mismatches]
    count = 2 * len(rows)
    equal = count - len(mismatches)
    measured = f"{equal} of {count}" + (f"; the others differ by at most {max(mismatches):.1f}" if mismatches else "")
    reached = equal >= 117 if _covers_paper(accuracies) and count == 120 else None
    return [Target("The paper's two SVC columns, to the printed digit", "117 of 120 numbers", measured, reached)]


def _column(
    accuracies: Scores, model: str, what: str, needed: int, is_near: Callable[[Reproduction], bool]
) -> list[Target]:
    """How many of the means of one column are near the paper's."""
    rows = comparisons(accuracies, model)
    if not rows:
        return []
    missed = [labels.title(row.dataset) for row in rows if not is_near(row)]
    measured = f"{len(rows) - len(missed)} of {len(rows)}" + (f"; all but {', '.join(missed)}" if missed else "")
    reached = len(rows) - len(missed) >= needed if _covers_paper(accuracies) and len(rows) == 30 else None
    return [Target(what, f"{needed} of 30 data sets", measured, reached)]


def _mean(accuracies: Scores) -> list[Target]:
    rows = comparisons(accuracies, REPRODUCED)
    if not rows:
        return []
    ours, theirs = (sum(values) / len(rows) for values in ([r.mean for r in rows], [r.paper_mean for r in rows]))
    reached = abs(ours - theirs) <= MEAN_POINTS if _covers_paper(accuracies) and len(rows) == 30 else None
    what = f"The mean of the paper's ℓ-DEP, within {MEAN_POINTS} points"
    return [Target(what, f"{theirs:.2f}", f"{ours:.2f}", reached)]


def _covers_paper(accuracies: Scores) -> bool:
    return set(accuracies.datasets) >= set(table())


def _is_near(row: Reproduction) -> bool:
    # By the rounded mean: where the paper prints 100 ± 0.0, printing the same is agreement.
    return abs(round(row.mean, 1) - row.paper_mean) <= DEVIATIONS * row.paper_std + SLACK


def _means(accuracies: Scores) -> list[Target]:
    printed = means(accuracies.datasets)
    targets = []
    for model in OURS:
        if model not in accuracies.complete:
            continue
        name = labels.label(model)
        if len(printed):
            ours = float(accuracies.mean.loc[printed.index, model].mean())
            best = printed.mean().idxmax()
            targets += [
                _above(f"{name}: mean above the paper's best model, {labels.label(best)}", ours, printed[best].mean()),
                _above(f"{name}: mean above the paper's best model per data set", ours, printed.max(axis=1).mean()),
            ]
        for other in BASELINES:
            if other in accuracies.complete:
                ours, theirs = float(accuracies.mean[model].mean()), float(accuracies.mean[other].mean())
                targets.append(_above(f"{name}: mean above our own {labels.label(other)}", ours, theirs))
    return targets


def _above(what: str, ours: float, other: float) -> Target:
    return Target(what, f"above {other:.2f}", f"{ours:.2f}", ours > other)
