"""How long does a fit with default settings take, compared with scikit-learn's MLP, on each of the 30 data sets?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from tqdm import tqdm

from benchmarks import data, timing
from benchmarks.competitors import ldep_default, mlp
from benchmarks.report import Report


def one(name: str) -> dict:
    part = data.fold(name, 0)
    ours, our_seconds = timing.fit(ldep_default.make(), part.X, part.y, repeats=2)
    theirs, their_seconds = timing.fit(mlp.make(), part.X, part.y, repeats=2)
    return {
        "set": name,
        "rows": len(part.X),
        "features": part.X.shape[1],
        "ldep_seconds": our_seconds,
        "mlp_seconds": their_seconds,
        "ratio": our_seconds / their_seconds,
        "ldep_accuracy": 100 * ours.score(part.X_test, part.y_test),
        "mlp_accuracy": 100 * theirs.score(part.X_test, part.y_test),
    }


def run() -> Report:
    report = Report("fit_time", "Fit time with default settings, compared with the MLP")
    table = pd.DataFrame([one(name) for name in tqdm(data.NAMES, desc="fit time", unit="data set")])
    report.table("sets", table)
    worst, median = table["ratio"].max(), table["ratio"].median()
    report.claim("largest fit time, divided by the MLP's", worst, "<= 1.0", worst <= 1.0)
    report.claim("median fit time, divided by the MLP's", median, "<= 0.3", median <= 0.3)
    report.note(
        "Times are CPU seconds of one process with one BLAS thread: the faster of two fits on the training part of "
        "the first fold. Accuracies are those of that fold."
    )
    figure = Figure(figsize=(7, 6))
    axes = figure.subplots()
    ordered = table.sort_values("ratio")
    axes.barh(ordered["set"], ordered["ratio"], color="#4477aa")
    axes.axvline(1.0, color="#aa3377", lw=1)
    axes.axvline(float(np.median(ordered["ratio"])), color="#228833", lw=1, ls="--")
    axes.set_xlabel("fit time of the ℓ-DEP divided by that of the MLP (dashed: median)")
    axes.tick_params(axis="y", labelsize=7)
    report.figure("ratio", figure)
    return report
