"""The models of one data set in order, each with its mean over the folds and an interval for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from pipeline.reporting.own.metric_text import MetricText

LEVEL = 0.95


@dataclass(frozen=True)
class Entry:
    """One model. `low` and `high` are None if the folds have one value only, or all the same."""

    model: str
    values: np.ndarray
    """The metric of each fold, in the order of the folds; NaN where it is missing."""
    mean: float
    low: float | None
    high: float | None
    other_means: dict[str, float]
    fit_seconds: float
    tune_seconds: float
    problem: str | None = None
    """Why the model has no place in the ranking."""


def entries(results: pd.DataFrame, metric: MetricText, test_share: float) -> list[Entry]:
    """The best model first; models without a complete result come last."""
    found = [_entry(str(model), rows, metric, test_share) for model, rows in results.groupby("model", sort=False)]
    ranked = sorted((entry for entry in found if entry.problem is None), key=lambda entry: -metric.sign * entry.mean)
    return [*ranked, *(entry for entry in found if entry.problem is not None)]


def corrected_error(values: np.ndarray, test_share: float) -> float:
    """The standard error of a mean over folds, after Nadeau and Bengio (2003).

    The training parts of the folds overlap, so the values are not independent: s²/J is too small. The correction adds
    test_share, the rows of a test part divided by the rows of a training part: s² (1/J + test_share).
    """
    return float(np.std(values, ddof=1)) * math.sqrt(1 / len(values) + test_share)


def quantile(values: np.ndarray, confidence: float) -> float:
    """The quantile of Student's t for a two-sided interval of a mean over these folds."""
    return float(stats.t.ppf((1 + confidence) / 2, len(values) - 1))


def varies(values: np.ndarray) -> bool:
    return len(values) > 1 and float(np.ptp(values)) > 1e-12


def _entry(model: str, rows: pd.DataFrame, metric: MetricText, test_share: float) -> Entry:
    wide = rows.pivot(index="fold", columns="metric", values="value").sort_index()
    values = wide[metric.name].to_numpy(dtype=np.float64)
    mean, low, high = float(np.mean(values)), None, None
    problem = _problem(rows, values, metric)
    if problem is None and varies(values):
        half = quantile(values, LEVEL) * corrected_error(values, test_share)
        low, high = metric.clipped(mean - half), metric.clipped(mean + half)
    fits = rows.drop_duplicates("fold")
    return Entry(
        model=model,
        values=values,
        mean=mean,
        low=low,
        high=high,
        other_means={str(name): float(wide[name].mean(skipna=False)) for name in wide.columns if name != metric.name},
        fit_seconds=float(fits["fit_cpu_seconds"].sum()),
        tune_seconds=float(fits["tune_cpu_seconds"].sum()),
        problem=problem,
    )


def _problem(rows: pd.DataFrame, values: np.ndarray, metric: MetricText) -> str | None:
    fits = rows.drop_duplicates("fold")
    failed = int((fits["status"] != "ok").sum())
    if failed:
        return f"failed on {failed} of {len(fits)} folds"
    if np.isnan(values).any():
        return f"has no {metric.title}"
    return None
