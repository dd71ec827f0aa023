"""What a reproduction of the paper should reach, and what these results reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from pipeline.reporting import labels, paper
from pipeline.reporting.scores import Scores

MLP_POINTS = 1.5  # how far a mean of the MLP may be from the paper's
DEVIATIONS = 1.5  # how many of the paper's deviations a mean of the ℓ-DEP may be off
MEAN_POINTS = 0.3  # how far the mean of the ℓ-DEP over the data sets may be from the paper's
SLACK = 1e-9  # of a comparison of rounded numbers
BASELINES = ("mlp", "rbf_svc", "rbf_svc_tuned", "mlp_tuned")


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

    comparison: paper.Comparison
    solver: str

    @property
    def difference(self) -> float:
        return self.comparison.mean - self.comparison.paper_mean


def evaluate(accuracies: Scores) -> list[Target]:
    """Every target that these models and data sets say something about."""
    return [*_svc(accuracies), *_mlp(accuracies), *_ldep_paper(accuracies), *_means(accuracies)]


def outliers(accuracies: Scores, results: pd.DataFrame) -> list[Outlier]:
    """Each larger difference of `ldep_paper`, with the solver that produced our number."""
    solver = solvers(results, "ldep_paper")
    return [Outlier(row, solver[row.dataset]) for row in comparisons(accuracies, "ldep_paper") if not _is_near(row)]


def solvers(results: pd.DataFrame, model: str) -> dict[str, str]:
    """{data set: solver} of a model; both names, with a plus, where its folds differ."""
    fits = results[(results["model"] == model) & (results["status"] == "ok")]
    return {name: " + ".join(sorted(set(rows["solver"]))) for name, rows in fits.groupby("dataset", sort=False)}


def comparisons(accuracies: Scores, model: str) -> list[paper.Comparison]:
    """Our numbers beside the paper's, for the data sets on which both have this model."""
    if model not in accuracies.models:
        return []
    compared = []
    for dataset in accuracies.datasets:
        mean, std = float(accuracies.mean.loc[dataset, model]), float(accuracies.std.loc[dataset, model])
        printed = paper.figures(model, dataset)
        if printed is not None and not pd.isna(mean):
            compared.append(paper.Comparison(dataset, model, mean, std, *printed))
    return compared


def _svc(accuracies: Scores) -> list[Target]:
    rows = [*comparisons(accuracies, "linear_svc"), *comparisons(accuracies, "rbf_svc")]
    if not rows:
        return []
    mismatches = [difference for row in rows for difference in row.mismatches]
    count = 2 * len(rows)
    equal = count - len(mismatches)
    measured = f"{equal} of {count}"
    if mismatches:
        measured += f"; the others differ by at most {max(mismatches):.1f}"
    reached = equal >= 117 if _covers_paper(accuracies) and count == 120 else None
    return [Target("The paper's two SVC columns, to the printed digit", "117 of 120 numbers", measured, reached)]


def _mlp(accuracies: Scores) -> list[Target]:
    rows = comparisons(accuracies, "mlp")
    near = [row for row in rows if abs(row.mean - row.paper_mean) <= MLP_POINTS + SLACK]
    what = f"The paper's MLP column, within {MLP_POINTS} points"
    return _column_target(what, 27, rows, near, accuracies)


def _ldep_paper(accuracies: Scores) -> list[Target]:
    rows = comparisons(accuracies, "ldep_paper")
    near = [row for row in rows if _is_near(row)]
    what = f"The paper's ℓ-DEP column, within {DEVIATIONS} of the paper's deviations"
    return [*_column_target(what, 29, rows, near, accuracies), *_ldep_paper_mean(rows, accuracies)]


def _ldep_paper_mean(rows: list[paper.Comparison], accuracies: Scores) -> list[Target]:
    if not rows:
        return []
    ours, theirs = (sum(values) / len(rows) for values in ([r.mean for r in rows], [r.paper_mean for r in rows]))
    reached = abs(ours - theirs) <= MEAN_POINTS if _covers_paper(accuracies) and len(rows) == 30 else None
    what = f"The mean of the paper's ℓ-DEP, within {MEAN_POINTS} points"
    return [Target(what, f"{theirs:.2f}", f"{ours:.2f}", reached)]


def _column_target(
    what: str, needed: int, rows: list[paper.Comparison], near: list[paper.Comparison], accuracies: Scores
) -> list[Target]:
    if not rows:
        return []
    measured = f"{len(near)} of {len(rows)}" + _exceptions(row for row in rows if row not in near)
    reached = len(near) >= needed if _covers_paper(accuracies) and len(rows) == 30 else None
    return [Target(what, f"{needed} of 30 data sets", measured, reached)]


def _covers_paper(accuracies: Scores) -> bool:
    return set(accuracies.datasets) >= set(paper.table())


def _is_near(row: paper.Comparison) -> bool:
    # By the rounded mean: where the paper prints 100 ± 0.0, printing the same is agreement.
    return abs(round(row.mean, 1) - row.paper_mean) <= DEVIATIONS * row.paper_std + SLACK


def _exceptions(missed: Iterable[paper.Comparison]) -> str:
    titles = [labels.title(row.dataset) for row in missed]
    return f"; all but {', '.join(titles)}" if titles else ""


def _means(accuracies: Scores) -> list[Target]:
    printed = paper.means(accuracies.datasets)
    targets = []
    for model in labels.OURS:
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
