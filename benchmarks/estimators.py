"""How good and how fast are the estimators with their defaults, compared with what else one could import?

The paper's 30 data sets and folds, features standardised on the training part. In every fold all models are fitted one
after the other, so that other work on the machine disturbs them alike. No default was chosen on these data sets.

Every fit is appended to `estimators-fits.csv`. A run that was interrupted continues there; delete the file to measure
everything again.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import ClassifierMixin
from sklearn.metrics import log_loss
from tqdm import tqdm

from benchmarks import data
from benchmarks.classifiers import (
    CALIBRATED,
    CATBOOST,
    CLASSIFIERS,
    EXTRA_TREES,
    HIST,
    LIGHTGBM,
    LOGISTIC,
    MLP,
    RANDOM_FOREST,
    SINGLE,
    SVM,
    TUNED,
)
from benchmarks.measures import calibration_error
from benchmarks.report import FOLDER, Report
from ldep.solvers import single_thread

FITS = FOLDER / "estimators-fits.csv"
FOLDS = 5
KEYS = ["data_set", "fold", "model", "seed"]


# Functions from a seed to an unfitted classifier.
MODELS = {
    name: CLASSIFIERS[name]
    for name in (
        SINGLE,
        TUNED,
        CALIBRATED,
        MLP,
        SVM,
        LIGHTGBM,
        CATBOOST,
        EXTRA_TREES,
        HIST,
        RANDOM_FOREST,
        LOGISTIC,
    )
}


def measure(part: data.Fold, model: ClassifierMixin) -> dict:
    """Fit a model to the training part, and score it on the test part."""
    with warnings.catch_warnings(), single_thread():
        warnings.simplefilter("ignore")
        started = time.process_time()
        model.fit(part.X, part.y)
        seconds = time.process_time() - started
        row = {"accuracy": 100 * model.score(part.X_test, part.y_test), "cpu_seconds": seconds}
        if hasattr(model, "predict_proba"):
            probability = np.asarray(model.predict_proba(part.X_test))
            row["log_loss"] = log_loss(part.y_test, probability[:, 1], labels=[0, 1])
            row["calibration_error"] = calibration_error(probability, part.y_test)
    return row


def fold_rows(name: str, number: int, wanted: list[tuple[str, int]]) -> list[dict]:
    """One row per wanted pair of a model and a seed, on one fold of one data set."""
    part = data.fold(name, number)
    return [
        {"data_set": name, "fold": number, "model": model, "seed": seed, **measure(part, MODELS[model](seed))}
        for model, seed in wanted
    ]


def measure_all(names: tuple[str, ...], seeds: int, n_jobs: int, file: Path = FITS) -> pd.DataFrame:
    """All fits, of which those in the file are not repeated; the others are appended to it."""
    columns = [*KEYS, "accuracy", "cpu_seconds", "log_loss", "calibration_error"]
    known = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=columns)
    finished = set(known[KEYS].itertuples(index=False, name=None))
    # Smallest data sets first, so that an interrupted run has finished most of them; further seeds last.
    order = sorted(names, key=lambda name: data.load(name)[0].size)
    tasks = []
    for pairs in ([(model, 0) for model in MODELS], [(TUNED, seed) for seed in range(1, seeds)]):
        for name in order:
            for number in range(FOLDS):
                wanted = [pair for pair in pairs if (name, number, *pair) not in finished]
                if wanted:
                    tasks.append(delayed(fold_rows)(name, number, wanted))
    file.parent.mkdir(parents=True, exist_ok=True)
    results = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(tasks)
    for rows in tqdm(results, total=len(tasks), desc="estimators", unit="fold", mininterval=5):
        pd.DataFrame(rows, columns=columns).to_csv(file, mode="a", header=not file.exists(), index=False)
    fits = pd.read_csv(file)
    return fits[fits["data_set"].isin(names)]


def run(names: tuple[str, ...] = data.NAMES, seeds: int = 1, n_jobs: int = 2) -> Report:
    """Measure what is not measured yet, and write the report.

    Parameters
    ----------
    names : tuple of str
        The data sets.
    seeds : int, default=1
        Number of seeds of `LDEPClassifierCV`; the other models are fitted with the first one only.
    n_jobs : int, default=2
        Number of processes.
    """
    report = Report("estimators", "Estimators with their defaults on the paper's 30 data sets")
    fits = measure_all(names, seeds, n_jobs)
    first = fits[fits["seed"] == 0]
    models = [model for model in MODELS if model in set(first["model"])]
    by_set = {
        column: first.pivot_table(
            index="data_set", columns="model", values=column, aggfunc="mean", dropna=False
        ).reindex(index=list(names), columns=models)
        for column in ("accuracy", "cpu_seconds", "log_loss", "calibration_error")
    }
    table = summary(by_set)
    report.table("models", table)
    report.table("sets", by_set["accuracy"].round(2).reset_index())
    claims(report, table.set_index("model"))
    means = fits[fits["model"] == TUNED].groupby("seed")["accuracy"].agg(["mean", "size"])
    means = means.loc[means["size"] == FOLDS * len(names), "mean"]
    if len(means) > 1:
        spread = float(means.std())
        report.claim(f"{TUNED}: spread of the mean over {len(means)} seeds", spread, "<= 0.15", spread <= 0.15)
        report.table("seeds", means.rename("accuracy").reset_index())
    report.note(
        "One fit per fold of the paper's five, features standardised on the training part. Accuracies in per cent, "
        "means over folds and data sets. Times are CPU seconds of one thread: the total is over all fits, the ratio to "
        "the MLP is the median over the data sets. Wins, losses and ties are those of LDEPClassifierCV against the "
        "model, in the mean accuracy on a data set. Log-loss and expected calibration error (ten bins of the "
        "confidence) are means over folds and data sets."
    )
    report.note(
        "The defaults of the ℓ-DEP were chosen on other problems ([defaults](defaults.md)) and not changed after this "
        "run. SVC and LDEPClassifier have no probabilities by default."
    )
    return report


def summary(by_set: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per model, best mean accuracy first."""
    accuracy, seconds = by_set["accuracy"], by_set["cpu_seconds"]
    gains = accuracy.rsub(accuracy[TUNED], axis=0)
    equal = gains.abs() < 1e-9
    table = pd.DataFrame(
        {
            "accuracy": accuracy.mean(),
            "wins": (gains.gt(0) & ~equal).sum(),
            "losses": (gains.lt(0) & ~equal).sum(),
            "ties": equal.sum(),
            "total_seconds": FOLDS * seconds.sum(),
            "median_time_of_mlp": seconds.div(seconds[MLP], axis=0).median(),
            "log_loss": by_set["log_loss"].mean(),
            "calibration_error": by_set["calibration_error"].mean(),
        }
    )
    table.loc[TUNED, ["wins", "losses", "ties"]] = 0
    return table.sort_values("accuracy", ascending=False).rename_axis("model").reset_index()


def claims(report: Report, table: pd.DataFrame) -> None:
    """Compare the summary with what the estimators should reach."""
    accuracy, total = table["accuracy"], table["total_seconds"]
    single, tuned = accuracy[SINGLE], accuracy[TUNED]
    report.claim(f"{SINGLE}: mean accuracy", single, ">= 88.0", single >= 88.0)
    ratio = table.loc[SINGLE, "median_time_of_mlp"]
    report.claim(f"{SINGLE}: median time, divided by the MLP's", ratio, "<= 0.3", ratio <= 0.3)
    if "LightGBM" in table.index:
        ratio = total[SINGLE] / total["LightGBM"]
        report.claim(f"{SINGLE}: total time, divided by LightGBM's", ratio, "<= 1.5", ratio <= 1.5)
    report.claim(f"{TUNED}: mean accuracy", tuned, ">= 90.3", tuned >= 90.3)
    ratio = table.loc[TUNED, "median_time_of_mlp"]
    report.claim(f"{TUNED}: median time, divided by the MLP's", ratio, "<= 4", ratio <= 4)
    if "CatBoost" in table.index:
        ratio = total[TUNED] / total["CatBoost"]
        report.claim(f"{TUNED}: total time, divided by CatBoost's", ratio, "< 1", ratio < 1)
    others = [model for model in table.index if model not in (SINGLE, TUNED, CALIBRATED)]
    lead = float((tuned - accuracy[others]).min())
    report.claim(f"{TUNED}: lead over the most accurate other model", lead, "> 0", lead > 0)
    margin = int((table["wins"] - table["losses"])[others].min())
    report.claim(f"{TUNED}: wins less losses against any other model, the least", margin, "> 0", margin > 0)
    for column in ("log_loss", "calibration_error"):
        text = f"{TUNED}: mean {column.replace('_', ' ')}"
        best = table.loc[[CALIBRATED, MLP], column].min()
        ours = table.loc[TUNED, column]
        report.claim(f"{text}, less that of the better of {CALIBRATED} and {MLP}", ours - best, "<= 0", ours <= best)
