"""What do many rows cost, and what do they gain? Two classes with 100,000 and 1,000,000 rows, and six with 20,000.

Every fit runs in a process of its own, which reports CPU seconds of one thread and its peak memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

from benchmarks.classifiers import CLASSIFIERS, LIGHTGBM, MLP, SINGLE, TUNED
from benchmarks.report import Report
from benchmarks.scaling import exponent
from ldep.solvers import single_thread

FEATURES, TEST = 20, 20_000
ROWS, LARGE = 100_000, 1_000_000
BETWEEN = 300_000
SIX_CLASSES = 20_000
TASKS = (
    *((model, ROWS, 2) for model in (SINGLE, TUNED, LIGHTGBM)),
    *((SINGLE, rows, 2) for rows in (BETWEEN, LARGE)),
    *((model, SIX_CLASSES, 6) for model in (SINGLE, TUNED, LIGHTGBM, MLP)),
)


def rows(count: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Clusters in twelve of twenty features, four per class, and 3 % of the rows in a random class."""
    return make_classification(
        count,
        FEATURES,
        n_informative=12,
        n_clusters_per_class=4,
        n_classes=classes,
        flip_y=0.03,
        class_sep=0.8,
        random_state=1,
    )


def measure(name: str, count: int, classes: int) -> dict:
    """Fit one model in this process, and score it on other rows."""
    X, y = rows(count + TEST, classes)
    model = CLASSIFIERS[name](0)
    with warnings.catch_warnings(), single_thread():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model.fit(X[:count], y[:count])
        seconds = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        accuracy = 100 * float(np.mean(model.predict(X[count:]) == y[count:]))
    size = {"model": name, "rows": count, "classes": classes}
    return {**size, "accuracy": accuracy, "cpu_seconds": seconds, "peak_mb": peak}


def run() -> Report:
    measured = []
    for task in TASKS:
        command = [sys.executable, "-m", __name__, *map(str, task)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        measured.append(json.loads(done.stdout))
        print(measured[-1], file=sys.stderr)
    return compare(pd.DataFrame(measured))


def compare(table: pd.DataFrame) -> Report:
    """The report on the measurements of all tasks."""
    report = Report("large", "Many rows: accuracy, time and memory")
    indexed = table.set_index(["classes", "rows", "model"])
    many, six = indexed.loc[(2, ROWS)], indexed.loc[(6, SIX_CLASSES)]
    ratio = many.loc[TUNED, "cpu_seconds"] / many.loc[LIGHTGBM, "cpu_seconds"]
    report.claim(f"{TUNED}, {ROWS:,} rows: time divided by LightGBM's", ratio, "<= 8", ratio <= 8)
    for model in (SINGLE, TUNED):
        lead = many.loc[model, "accuracy"] - many.loc[LIGHTGBM, "accuracy"]
        report.claim(f"{model}, {ROWS:,} rows: accuracy less LightGBM's", lead, "> 0", lead > 0)
    growth = indexed.loc[2].xs(SINGLE, level="model").sort_index()
    power = exponent(growth.index.to_numpy(dtype=float), growth["cpu_seconds"])
    report.claim(f"{SINGLE}: exponent of the time, {ROWS:,} to {LARGE:,} rows", power, "<= 1.0", power <= 1.0)
    seconds, peak = growth.loc[LARGE, "cpu_seconds"], growth.loc[LARGE, "peak_mb"]
    report.claim(f"{SINGLE}, {LARGE:,} rows: CPU seconds", seconds, "< 60", seconds < 60)
    report.claim(f"{SINGLE}, {LARGE:,} rows: peak memory, MB", peak, "< 2000", peak < 2000)
    for model in (SINGLE, TUNED):
        lead = six.loc[model, "accuracy"] - six.loc[LIGHTGBM, "accuracy"]
        report.claim(f"{model}, six classes: accuracy less LightGBM's", lead, "> 0", lead > 0)
    report.table("fits", table)
    report.note(
        f"Generated rows with {FEATURES} features: clusters in twelve of them, four per class, and 3 % of the rows in "
        "a random class. Every model has its defaults and one thread. Accuracy is that on "
        f"{TEST:,} other rows. The peak is that of the process, data included."
    )
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=CLASSIFIERS)
    parser.add_argument("rows", type=int)
    parser.add_argument("classes", type=int)
    print(json.dumps(measure(*vars(parser.parse_args()).values())))
