"""The repeats of the cross-validation, one at a time: how much the means depend on the partition into folds.

Repeats differ in the folds and in the seeds of the fits, so they also show what other seeds would change.
"""

from __future__ import annotations

import pandas as pd

from pipeline.reporting.measures import Measure
from pipeline.reporting.scores import from_results


def means(results: pd.DataFrame, measure: Measure, repeats: int) -> pd.DataFrame:
    """The mean over the data sets: one row per repeat, one column per model that has a result on every data set."""
    folds = results.groupby("dataset")["fold"].transform("max") + 1  # of all repeats
    repeat = results["fold"] * repeats // folds
    rows = {number: _means(results[repeat == number], measure) for number in range(repeats)}
    return pd.DataFrame.from_dict(rows, orient="index").dropna(axis="columns")


def _means(results: pd.DataFrame, measure: Measure) -> pd.Series:
    scores = from_results(results, measure)
    return scores.mean[scores.complete].mean()
