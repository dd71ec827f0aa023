"""Tables with a numeric target that scikit-learn and statsmodels bring along, with at least 100 rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import statsmodels.datasets
from sklearn.datasets import load_diabetes

from benchmarks.collection.regression_files import Table, split

YEARS_BEFORE = 11  # about one cycle of the sun


def _statsmodels(name: str, target: str, drop: tuple = ()) -> Table:
    module = getattr(statsmodels.datasets, name)
    return split(module.load_pandas().data, target, drop)


def _diabetes() -> Table:
    X, target = load_diabetes(return_X_y=True, as_frame=True)
    return Table(X, target)


def _star98() -> Table:
    """The share of pupils above the national median in 303 school districts of California."""
    data = statsmodels.datasets.star98.load_pandas().data
    share = data["NABOVE"] / (data["NABOVE"] + data["NBELOW"])
    return Table(data.drop(columns=["NABOVE", "NBELOW"]), share)


def _sunspots() -> Table:
    """The sunspots of a year, from those of the years before."""
    activity = statsmodels.datasets.sunspots.load_pandas().data["SUNACTIVITY"]
    lags = pd.concat({f"before_{lag}": activity.shift(lag) for lag in range(1, YEARS_BEFORE + 1)}, axis=1)
    return Table(lags[YEARS_BEFORE:].reset_index(drop=True), activity[YEARS_BEFORE:].reset_index(drop=True))


SCIKIT_LEARN: dict[str, Callable[[], Table]] = {"diabetes-progression": _diabetes}
STATSMODELS: dict[str, Callable[[], Table]] = {
    "anes96": partial(_statsmodels, "anes96", "PID", ("popul",)),
    "engel": partial(_statsmodels, "engel", "foodexp"),
    "fair": partial(_statsmodels, "fair", "affairs"),
    "grunfeld": partial(_statsmodels, "grunfeld", "invest"),
    "macrodata": partial(_statsmodels, "macrodata", "unemp"),
    "randhie": partial(_statsmodels, "randhie", "mdvis"),
    "star98": _star98,
    "sunspots": _sunspots,
}
