"""The groups of a column: how good the winner is on each, how often it favours a class, and what recourse costs.

Everything is measured on rows that the model had not seen. A group with few rows gets no number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

FEWEST = 20  # rows of a group with numbers
FEWEST_ANSWERS = 5  # rows of a group whose recourse is known
MOST_GROUPS = 20  # that are shown, the largest
FEW_VALUES = 8  # of a column of numbers: each is a group
QUARTILES = 4
RESAMPLES = 400
LEVEL = 0.95
ABSENT = "missing"

Interval = tuple[float, float]


@dataclass(frozen=True)
class Group:
    """The numbers of one group. `base` is the share of the positive class, `selected` that of its predictions."""

    name: str
    rows: int
    value: float | None
    interval: Interval | None
    base: float | None
    selected: float | None
    selected_interval: Interval | None
    recourse: Mapping[str, Recourse]
    """{predicted class: the distances of the nearest rows of another class}"""


@dataclass(frozen=True)
class Recourse:
    median: float
    interval: Interval | None
    rows: int


@dataclass(frozen=True)
class GroupedColumn:
    """The groups of one column, and the names and rows of those that are too small for a number."""

    column: str
    groups: list[Group]
    too_few: dict[str, int]


@dataclass(frozen=True)
class Unseen:
    """What is known of the rows that a model had not seen, and its metric on some of them, given by their numbers.

    `positive` is the rarer one of two classes; there is none of more.
    """

    y: np.ndarray
    predicted: np.ndarray
    tested: np.ndarray
    value: Callable[[np.ndarray], float | None]
    positive: str | None


def labels_of(column: pd.Series) -> pd.Categorical:
    """The group of each row. Numbers are grouped by quartile, unless they have few values."""
    if not pd.api.types.is_numeric_dtype(column):
        texts = column.astype(object).where(column.notna(), ABSENT).astype(str)
        order = [str(label) for label in texts.value_counts(sort=True).index]
        return pd.Categorical(texts, categories=order, ordered=True)
    values = column.to_numpy(dtype=np.float64)
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    if len(distinct) <= FEW_VALUES:
        names = [f"{value:g}" for value in distinct]
        places = np.searchsorted(distinct, values)
    else:
        edges = np.unique(np.quantile(known, np.arange(1, QUARTILES) / QUARTILES))
        shown = [f"{edge:.4g}" for edge in edges]
        between = [f"above {low}, up to {high}" for low, high in pairwise(shown)]
        names = [f"up to {shown[0]}", *between, f"above {shown[-1]}"]
        places = np.searchsorted(edges, values, side="left")
    places = np.where(np.isnan(values), len(names), places)
    return pd.Categorical.from_codes(places, categories=[*names, ABSENT], ordered=True).remove_unused_categories()


def measure(
    column: str,
    labels: pd.Categorical,
    unseen: Unseen,
    recourse: Mapping[str, Any] | None,
) -> GroupedColumn:
    """The numbers of the groups. recourse: `rows`, `predicted` and `distance` of the rows whose recourse is known."""
    groups: list[Group] = []
    too_few: dict[str, int] = {}
    positive = unseen.positive
    for code, name in enumerate(labels.categories):
        inside = np.flatnonzero((labels.codes == code) & unseen.tested)
        if len(inside) < FEWEST or len(groups) == MOST_GROUPS:
            too_few[str(name)] = len(inside)
            continue
        base = selected = interval = None
        if positive is not None:
            base = float(np.mean(unseen.y[inside] == positive))
            chosen = int(np.count_nonzero(unseen.predicted[inside] == positive))
            selected, interval = chosen / len(inside), wilson(chosen, len(inside))
        shown = unseen.value(inside), bootstrapped(unseen.value, inside)
        groups.append(Group(str(name), len(inside), *shown, base, selected, interval, _recourse(inside, recourse)))
    return GroupedColumn(column, groups, too_few)


def _recourse(inside: np.ndarray, known: Mapping[str, Any] | None) -> dict[str, Recourse]:
    if not known:
        return {}
    rows, predicted = np.array(known["rows"], dtype=int), np.array(known["predicted"], dtype=str)
    distance = np.array([np.inf if value is None else value for value in known["distance"]])
    found = {}
    for label in np.unique(predicted).tolist():
        of_class = distance[np.isin(rows, inside) & (predicted == label)]
        if len(of_class) >= FEWEST_ANSWERS:
            interval = bootstrapped(lambda some: float(np.median(some)), of_class)
            found[label] = Recourse(float(np.median(of_class)), interval, len(of_class))
    return found


def wilson(count: int, total: int) -> Interval:
    """The interval of a share by Wilson's score."""
    interval = stats.binomtest(count, total).proportion_ci(LEVEL, method="wilson")
    return float(interval.low), float(interval.high)


def bootstrapped(value_of: Callable[[np.ndarray], float | None], items: np.ndarray) -> Interval | None:
    """The interval between percentiles of values of resampled items; None if many of these have no value."""
    rng = np.random.default_rng(0)
    drawn = [value_of(rng.choice(items, len(items))) for _ in range(RESAMPLES)]
    values = [value for value in drawn if value is not None and np.isfinite(value)]
    if len(values) < 0.9 * RESAMPLES:
        return None
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
