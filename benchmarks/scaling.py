"""How do the time and memory of a fit grow with the numbers of rows and pieces, and what does predict cost?"""

from __future__ import annotations

import resource
import time
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator
from tqdm import tqdm

from benchmarks import data, timing
from benchmarks.report import Report
from ldep import LDEPClassifier
from ldep.solvers import single_thread

ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 1_000_000)
PIECES = (5, 10, 20, 40, 80)


def exponent(sizes, seconds) -> float:
    """Return the slope of the regression line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def bare(model: LDEPClassifier, X: np.ndarray) -> np.ndarray:
    """Compute the decision value with the two matrix products and maxima that predict needs at least."""
    return (X @ model.W_.T + model.c_).max(axis=1) - (X @ model.M_.T + model.d_).max(axis=1)


def fastest(call, repeats: int = 15) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def run() -> Report:
    report = Report("scaling", "Growth of fit time with rows and pieces, and time of predict")
    rows = []
    for m in tqdm(ROWS, desc="rows"):
        X, y = data.synthetic(1, m, 20, noise=1.0)
        model, seconds = timing.fit(LDEPClassifier(random_state=0), X, y, repeats=2)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append({"rows": m, "seconds": seconds, "accuracy": 100 * model.score(X, y), "process_peak_mb": peak})
    by_rows = pd.DataFrame(rows)
    X, y = data.synthetic(1, 10_000, 20, noise=1.0)
    by_pieces = pd.DataFrame(
        [
            {"pieces": r, "seconds": timing.fit(LDEPClassifier(r, r, random_state=0), X, y, repeats=2)[1]}
            for r in tqdm(PIECES, desc="pieces")
        ]
    )
    model = LDEPClassifier(random_state=0).fit(X, y)
    costs = []
    with single_thread():
        for m in (1_000, 10_000, 100_000):
            Z = data.synthetic(2, m, 20)[0]
            ours, least = fastest(partial(model.predict, Z)), fastest(partial(bare, model, Z))
            costs.append({"rows": m, "predict_ms": 1e3 * ours, "bare_ms": 1e3 * least, "ratio": ours / least})
    predict = pd.DataFrame(costs)
    report.table("rows", by_rows)
    report.table("pieces", by_pieces)
    report.table("predict", predict)
    grow_m, grow_r = exponent(ROWS, by_rows["seconds"]), exponent(PIECES, by_pieces["seconds"])
    report.claim("exponent of fit time in the number of rows (1k to 1M, n = 20)", grow_m, "<= 1.0", grow_m <= 1.0)
    seconds = by_rows["seconds"].iloc[-1]
    report.claim("CPU seconds of a fit of 1M rows", seconds, "< 60", seconds < 60)
    report.claim("exponent of fit time in the number of pieces (5 to 80)", grow_r, "<= 1.1", grow_r <= 1.1)
    peak = by_rows["process_peak_mb"].max()
    report.claim("peak memory of the process with 1M rows, MB", peak, "< 2000", peak < 2000)
    worst = predict["ratio"].max()
    report.claim("largest ratio of predict to two bare products and maxima", worst, "<= 1.3", worst <= 1.3)
    figure = Figure(figsize=(8, 3.2))
    for axes, table, x in zip(figure.subplots(1, 2), (by_rows, by_pieces), ("rows", "pieces")):
        axes.loglog(table[x], table["seconds"], "o-", color="#4477aa", label="measured")
        line = table["seconds"].iloc[0] * table[x] / table[x].iloc[0]
        axes.loglog(table[x], line, "--", color="#999999", label="linear")
        axes.set_xticks(table[x], [f"{value:,}" for value in table[x]], minor=False)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(x)
        axes.set_ylabel("CPU seconds per fit")
        axes.legend()
    figure.tight_layout()
    report.figure("growth", figure)
    return report
