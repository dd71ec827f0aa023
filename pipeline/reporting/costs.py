"""What each model cost: CPU seconds of its tuning and of its fits on the outer folds."""

from __future__ import annotations

import pandas as pd

_FIT = ["dataset", "model", "fold"]


def per_model(results: pd.DataFrame) -> pd.DataFrame:
    """One row per model: seconds of tuning and of fitting over all data sets and folds, their total, and its share."""
    fits = results.drop_duplicates(_FIT)
    sums = fits.groupby("model", sort=False)[["tune_cpu_seconds", "fit_cpu_seconds"]].sum()
    cost = sums.rename(columns={"tune_cpu_seconds": "tuning", "fit_cpu_seconds": "fitting"})
    cost["total"] = cost["tuning"] + cost["fitting"]
    everything = cost["total"].sum()
    cost["share"] = cost["total"] / everything if everything > 0 else 0.0
    return cost


def total(results: pd.DataFrame) -> float:
    """CPU seconds of all models together.

    An ensemble and the model that it is made of share one study, which is in the rows of both with the same cost, to
    the last bit. It counts once.
    """
    fits = results.drop_duplicates(_FIT)
    studies = fits.drop_duplicates(["dataset", "fold", "tune_cpu_seconds"])
    return float(fits["fit_cpu_seconds"].sum() + studies["tune_cpu_seconds"].sum())


def fit_seconds(results: pd.DataFrame) -> pd.DataFrame:
    """Mean CPU seconds of a fit, without tuning: one row per data set, one column per model."""
    fits = results[results["status"] == "ok"].drop_duplicates(_FIT)
    wide = fits.groupby(["dataset", "model"])["fit_cpu_seconds"].mean().unstack("model")
    return wide.reindex(index=results["dataset"].unique(), columns=results["model"].unique())


def fits_per_model(results: pd.DataFrame) -> pd.Series:
    """How many outer folds each model was fitted on."""
    return results.drop_duplicates(_FIT).groupby("model")["fold"].size()
