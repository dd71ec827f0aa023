"""What each model cost: CPU seconds of its studies and of its fits on the outer folds."""

from __future__ import annotations

import json

import pandas as pd


def per_model(table: pd.DataFrame) -> pd.DataFrame:
    """A row a model: seconds of tuning and of fitting over all sets and folds, their sum, and its share of everything.

    A model that took over the choice of another one's study (a committee) shows that study's seconds in the results.
    Here they count once, for the model that was studied.
    """
    fits = table.drop_duplicates(["dataset", "model", "fold"]).copy()
    fits["borrowed"] = fits["settings"].map(lambda text: "estimator" in json.loads(text))
    study = ["dataset", "fold", "tune_cpu_seconds", "trials"]
    shown_before = fits.sort_values("borrowed", kind="stable").duplicated(study).reindex(fits.index)
    fits["tuning"] = fits["tune_cpu_seconds"].mask(shown_before & fits["borrowed"], 0.0)
    sums = fits.groupby("model", sort=False)[["tuning", "fit_cpu_seconds"]].sum()
    cost = sums.rename(columns={"fit_cpu_seconds": "fitting"})
    cost["total"] = cost["tuning"] + cost["fitting"]
    everything = cost["total"].sum()
    cost["share"] = cost["total"] / everything if everything > 0 else 0.0
    return cost


def fit_seconds(table: pd.DataFrame) -> pd.DataFrame:
    """Mean CPU seconds of a fit, without tuning: a row a set, a column a model."""
    fits = table[table["status"] == "ok"].drop_duplicates(["dataset", "model", "fold"])
    wide = fits.groupby(["dataset", "model"])["fit_cpu_seconds"].mean().unstack("model")
    return wide.reindex(index=table["dataset"].unique(), columns=table["model"].unique())
