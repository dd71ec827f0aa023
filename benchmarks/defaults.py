"""How good and how fast are the estimators with their defaults on the development collection of real tables?

The collection is the one on which the defaults are chosen, so its figures are optimistic for the ℓ-DEP. What matters is
each difference from a competitor, with its standard error over the problems. `benchmarks/estimators.py` and
`benchmarks/multiclass.py` measure the result on other data.

Cells that are in the file are not measured again: delete the lines of a model that has changed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import cells as cells_of
from benchmarks.cells import MEASURES
from benchmarks.classifiers import (
    CATBOOST,
    EXTRA_TREES,
    HIST,
    LIGHTGBM,
    MLP,
    ONE_VERSUS_REST,
    RANDOM_FOREST,
    SINGLE,
    SVM,
    TUNED,
)
from benchmarks.collection.problems import CLASSES, LARGEST, SOURCES, TABLES, Problem, copies, problems
from benchmarks.report import FOLDER, Report

CELLS = FOLDER / "defaults-cells.csv"
OURS = (SINGLE, TUNED)
MODELS = (SINGLE, TUNED, ONE_VERSUS_REST, SVM, EXTRA_TREES, RANDOM_FOREST, LIGHTGBM, HIST, MLP, CATBOOST)
BETTER = {"accuracy": 1, "log_loss": -1, "auc": 1, "average_precision": 1, "calibration_error": -1}
NAMES = {"accuracy": "accuracy", "auc": "ROC AUC", "log_loss": "log-loss", "calibration_error": "calibration error"}
# The competitors that each estimator should beat, and the one whose time limits its own.
SINGLE_RIVALS = {2: (MLP, SVM, EXTRA_TREES, RANDOM_FOREST), 3: (ONE_VERSUS_REST, MLP, EXTRA_TREES, LIGHTGBM)}
SINGLE_RIVALS[5] = SINGLE_RIVALS[3]
SINGLE_TIME = {2: (MLP, 1.0), 3: (ONE_VERSUS_REST, 0.5), 5: (ONE_VERSUS_REST, 0.5)}
COPIED = 0.1  # a larger share of copies among the rows favours models that remember rows
TUNED_RIVALS, TUNED_TIME = (CATBOOST, LIGHTGBM, HIST), (MLP, 3.0)


def run(
    classes: tuple[int, ...] = CLASSES, models: tuple[str, ...] = MODELS, cells: Path = CELLS, n_jobs: int = 1
) -> Report:
    """Measure what is not in the file yet, and compare all models that the file has.

    Parameters
    ----------
    classes : tuple of int
        Numbers of classes to measure: 2, 3, 5.
    models : tuple of str
        The models to measure. One-versus-rest is left out with two classes.
    cells : Path
        The CSV file of the cells.
    n_jobs : int
        Number of processes.
    """
    report = Report("defaults", "Estimators with their defaults on the development collection")
    for number in classes:
        wanted = [model for model in models if number > 2 or model != ONE_VERSUS_REST]
        cells_of.measure(problems(number).items(), wanted, cells, n_jobs)
    known = cells_of.read(cells)
    summaries, comparisons, accuracies = [], [], []
    for number in CLASSES:
        by_fold = measured(known, problems(number), number)
        if by_fold["accuracy"].empty:
            continue
        summaries.append(summary(by_fold, number))
        comparisons.append(comparison(by_fold, number, originals(problems(number))))
        means = by_fold["accuracy"].groupby(level="problem", sort=False).mean()
        accuracies.append(means.round(2).reset_index().assign(classes=number))
        claims(report, by_fold, number)
    report.table("models", pd.concat(summaries))
    report.table("differences", pd.concat(comparisons))
    report.table("tables", tables({number: problems(number) for number in CLASSES}))
    report.table("problems", pd.concat(accuracies))
    report.note(
        "Tables with a numeric target, cut at its median, terciles or quintiles. Of tables with more than "
        f"{LARGEST:,} rows that many are drawn. Cuts that ties make too uneven are left out. One fit per fold of five. "
        "Missing values are imputed and features standardised by the training part; strings are one-hot. The table "
        "`tables` has the sources, and the features after this encoding. Rules and defaults of the ℓ-DEP are chosen on "
        "these problems."
    )
    report.note(
        "`models` has means over the problems, and the number of folds that were measured. A difference is that on the "
        "folds that both models have. ROC AUC and average precision with more than two classes are means over "
        "the classes, each against the others. `seconds` are CPU seconds of one thread in all fits, `time_of_mlp` is "
        "the median over the problems of the time divided by the MLP's. `differences` has our estimator minus the "
        "other model with standard errors over the problems, wins and losses in accuracy, and the median ratio of the "
        f"times. In some tables more than {100 * COPIED:.0f} % of the rows are copies of another row (`copies`), which "
        "may be in the training part when the other is in the test part. That favours models that remember rows, so "
        "the difference is also given without these tables. Cells may have been measured in several runs, on a machine "
        "that was also busy: the ratios of the times are more reliable than the seconds."
    )
    return report


def measured(cells: pd.DataFrame, chosen: dict[str, Problem], number: int) -> dict[str, pd.DataFrame]:
    """Per measure: one row per problem and fold, one column per model; NaN in folds that a model has not finished."""
    cells = cells[(cells["classes"] == number) & cells["problem"].isin(chosen)]
    finished = cells.groupby(["model", "fold"])["problem"].transform("size") == len(chosen)
    cells = cells[finished]
    models = [model for model in MODELS if model in set(cells["model"])]
    return {
        column: cells.pivot_table(index=["problem", "fold"], columns="model", values=column, dropna=False)
        .reindex(index=list(chosen), level="problem")
        .reindex(columns=models)
        for column in (*MEASURES, "cpu_seconds")
    }


def summary(by_fold: dict[str, pd.DataFrame], number: int) -> pd.DataFrame:
    """One row per model, best mean accuracy first."""
    seconds = by_fold["cpu_seconds"]
    folds = seconds.notna().groupby(level="fold").any().sum()
    means = {column: by_fold[column].groupby(level="problem").mean().mean() for column in MEASURES}
    table = pd.DataFrame({"classes": number, "folds": folds} | means | {"seconds": seconds.sum()})
    if MLP in seconds:
        table["time_of_mlp"] = [time_ratio(by_fold, model, MLP) for model in table.index]
    return table.rename_axis("model").reset_index().sort_values("accuracy", ascending=False)


def originals(chosen: dict[str, Problem]) -> list[str]:
    """The problems in which few rows are copies of another."""
    return [name for name, problem in chosen.items() if copies(problem) <= COPIED]


def comparison(by_fold: dict[str, pd.DataFrame], number: int, without_copies: list[str]) -> pd.DataFrame:
    """One row per pair of one of our estimators and another model."""
    rows = []
    models = by_fold["accuracy"].columns
    for ours in [model for model in OURS if model in models]:
        for other in models.drop(ours):
            row = {"classes": number, "model": ours, "other": other}
            for column in ("accuracy", "log_loss", "auc"):
                row[column], row[f"{column}_error"] = difference(by_fold[column], ours, other)
            few = difference(by_fold["accuracy"].loc[without_copies], ours, other)
            row["accuracy_without_copies"], row["accuracy_without_copies_error"] = few
            gain = paired(by_fold["accuracy"], ours, other).diff(axis=1)[other]
            row |= {"wins": int(gain.lt(-1e-9).sum()), "losses": int(gain.gt(1e-9).sum())}
            rows.append(row | {"time_ratio": time_ratio(by_fold, ours, other)})
    return pd.DataFrame(rows)


def paired(table: pd.DataFrame, ours: str, other: str) -> pd.DataFrame:
    """The means of two models per problem, over the folds that both have finished."""
    pair = pd.DataFrame({ours: table[ours], other: table[other]})
    return pair.dropna().groupby(level="problem", sort=False).mean()


def difference(table: pd.DataFrame, ours: str, other: str) -> tuple[float, float]:
    """The mean difference over the problems, and its standard error."""
    means = paired(table, ours, other)
    gaps = means[ours] - means[other]
    return float(gaps.mean()), float(gaps.std() / np.sqrt(len(gaps)))


def time_ratio(by_fold: dict[str, pd.DataFrame], ours: str, other: str) -> float:
    seconds = paired(by_fold["cpu_seconds"], ours, other)
    return float((seconds[ours] / seconds[other]).median())


def claims(report: Report, by_fold: dict[str, pd.DataFrame], number: int) -> None:
    """Compare our estimators with what they should reach; a model without cells is not compared."""
    models = set(by_fold["accuracy"].columns)

    def lead(ours: str, rivals: tuple[str, ...], column: str) -> None:
        table = by_fold[column]
        found = [rival for rival in rivals if rival in models and table[rival].notna().any()]
        if not found or not table[ours].notna().any():
            return
        gains = {rival: BETTER[column] * difference(table, ours, rival)[0] for rival in found}
        best = min(gains, key=gains.__getitem__)
        text = f"{number} classes, {ours}: lead in {NAMES[column]} over {best}, the best of its rivals"
        report.claim(text, gains[best], "> 0", gains[best] > 0)

    def time(ours: str, other: str, limit: float) -> None:
        if other in models:
            ratio = time_ratio(by_fold, ours, other)
            text = f"{number} classes, {ours}: time divided by that of {other}, median"
            report.claim(text, ratio, f"<= {limit:g}", ratio <= limit)

    if SINGLE in models:
        lead(SINGLE, SINGLE_RIVALS[number], "accuracy")
        time(SINGLE, *SINGLE_TIME[number])
    if TUNED in models:
        for column in ("accuracy", "auc"):
            lead(TUNED, TUNED_RIVALS, column)
        others = tuple(model for model in MODELS if model not in (TUNED, SINGLE, ONE_VERSUS_REST))
        for column in ("log_loss", "calibration_error"):
            lead(TUNED, others, column)
        time(TUNED, *TUNED_TIME)


def tables(by_classes: dict[int, dict[str, Problem]]) -> pd.DataFrame:
    """Where each table comes from, its size as it is used, and the numbers of classes that it is cut into."""
    rows = []
    source = {name: source for source, tables in SOURCES.items() for name in tables}
    for name in TABLES:
        cuts = {number: chosen[name] for number, chosen in by_classes.items() if name in chosen}
        if cuts:
            problem = next(iter(cuts.values()))
            rows_and_features = dict(zip(("rows", "features"), problem.X.shape))
            sizes = {**rows_and_features, "copies": copies(problem), "classes": ", ".join(map(str, cuts))}
            rows.append({"table": name, "source": source[name], **sizes})
    return pd.DataFrame(rows)
