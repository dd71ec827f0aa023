"""The tidy results as tables: scores over data sets and over the folds of one, by any metric, and CPU times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import stats

from ldep_pipeline.metrics.metric import ACCURACY, Metric

FIT = ["dataset", "model", "fold"]  # what identifies a fit
LEVEL = 0.95  # of the intervals


@dataclass(frozen=True)
class Scores:
    """Mean and sample deviation over the folds. NaN where a model failed on a fold, lacks a value, or was not run."""

    metric: Metric
    mean: pd.DataFrame
    std: pd.DataFrame
    failed: pd.DataFrame

    @property
    def datasets(self) -> list[str]:
        return list(self.mean.index)

    @property
    def models(self) -> list[str]:
        return list(self.mean.columns)

    @cached_property
    def complete(self) -> list[str]:
        """The models that have a result on every data set."""
        return [model for model in self.models if self.mean[model].notna().all()]

    @property
    def incomplete(self) -> list[str]:
        return [model for model in self.models if model not in self.complete]

    @cached_property
    def goodness(self) -> pd.DataFrame:
        """The means turned so that more is better."""
        return self.metric.goodness(self.mean)

    def over_datasets(self) -> pd.DataFrame:
        """One row per model, over the data sets on which it has a result.

        Columns: mean, population deviation, median, median absolute deviation, and the number of these data sets.
        """
        rows = {}
        for model in self.models:
            means = self.mean[model].dropna().to_numpy()
            has_results = len(means) > 0
            rows[model] = {
                "mean": means.mean() if has_results else np.nan,
                "std": means.std(ddof=0) if has_results else np.nan,
                "median": np.median(means) if has_results else np.nan,
                "mad": stats.median_abs_deviation(means) if has_results else np.nan,
                "datasets": len(means),
            }
        return pd.DataFrame.from_dict(rows, orient="index")

    def best_first(self) -> pd.Series:
        """The mean over the data sets of each model that has a result on all of them."""
        return self.metric.best_first(self.mean[self.complete].mean())

    def printed(self) -> pd.DataFrame:
        """The means as precisely as they are shown."""
        return self.mean.map(self.metric.printed)

    def best(self) -> pd.DataFrame:
        """True where a model's mean, rounded as it is printed, is the best of its row."""
        printed = self.printed()
        best = printed.max(axis=1) if self.metric.higher_is_better else printed.min(axis=1)
        return printed.eq(best, axis=0)


def from_results(results: pd.DataFrame, metric: Metric = ACCURACY) -> Scores:
    """Summarise the folds of a tidy table of results by one metric."""
    values = _values(results, metric)
    values = values.assign(failed=values["status"] == "failed", lacks=values["value"].isna())
    datasets, models = results["dataset"].unique(), results["model"].unique()
    groups = values.groupby(["dataset", "model"])

    def wide(column: pd.Series) -> pd.DataFrame:
        return column.unstack("model").reindex(index=list(datasets), columns=list(models))

    lacks = wide(groups["lacks"].any()).eq(True)
    return Scores(
        metric=metric,
        mean=wide(groups["value"].mean()).astype(float).mask(lacks),
        std=wide(groups["value"].std(ddof=1)).astype(float).mask(lacks),
        failed=wide(groups["failed"].any()).eq(True),
    )


def means_of_repeats(results: pd.DataFrame, metric: Metric, repeats: int) -> pd.DataFrame:
    """The mean over the data sets: one row per repeat, one column per model that has a result on every data set.

    Repeats differ in the folds and in the seeds of the fits, so they also show what other seeds would change.
    """
    folds = results.groupby("dataset")["fold"].transform("max") + 1  # of all repeats
    repeat = results["fold"] * repeats // folds
    rows = {}
    for number in range(repeats):
        scores = from_results(results[repeat == number], metric)
        rows[number] = scores.mean[scores.complete].mean()
    return pd.DataFrame.from_dict(rows, orient="index").dropna(axis="columns")


def _values(results: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """One row per fit, with the value as it is shown; NaN if the fit failed or the model has no such value."""
    if not metric.is_time:
        rows = results[results["metric"] == metric.name]
        return rows.assign(value=metric.factor * rows["value"])
    fits = results.drop_duplicates(FIT)
    seconds = fits[metric.column].where(fits["status"] != "failed")
    # A model without tuning has 0 seconds, and no rank among those that are tuned.
    return fits.assign(value=seconds.where(seconds > 0))


@dataclass(frozen=True)
class FoldScores:
    """One model on the folds of one data set; values as the results have them."""

    model: str
    values: np.ndarray
    """The metric of each fold, in the order of the folds; NaN where it is missing."""
    mean: float
    interval: tuple[float, float] | None
    """None if the folds have one value only, or all the same."""
    other_means: dict[str, float]
    fit_seconds: float
    tune_seconds: float
    trials: int = 0
    """Of tuning, over all folds."""
    problem: str | None = None
    """Why the model has no place in the ranking."""


def of_folds(results: pd.DataFrame, metric: Metric, test_share: float) -> list[FoldScores]:
    """The best model first; models without a complete result come last."""
    found = [_of_model(str(model), rows, metric, test_share) for model, rows in results.groupby("model", sort=False)]
    complete = [scores for scores in found if scores.problem is None]
    ranked = sorted(complete, key=lambda scores: scores.mean, reverse=metric.higher_is_better)
    return [*ranked, *(scores for scores in found if scores.problem is not None)]


def interval_of_mean(values: np.ndarray, test_share: float, confidence: float = LEVEL) -> tuple[float, float] | None:
    """A two-sided interval of a mean over folds by Student's t, with the standard error of Nadeau and Bengio (2003).

    The training parts of the folds overlap, so the values are not independent: s²/J is too small. The correction adds
    test_share, the rows of a test part divided by the rows of a training part: s² (1/J + test_share). None if there is
    one fold only, or if all have the same value.
    """
    if len(values) < 2 or float(np.ptp(values)) <= 1e-12:
        return None
    error = float(np.std(values, ddof=1)) * math.sqrt(1 / len(values) + test_share)
    half = float(stats.t.ppf((1 + confidence) / 2, len(values) - 1)) * error
    mean = float(np.mean(values))
    return mean - half, mean + half


def _of_model(model: str, rows: pd.DataFrame, metric: Metric, test_share: float) -> FoldScores:
    wide = rows.pivot(index="fold", columns="metric", values="value").sort_index()
    values, fits = wide[metric.name].to_numpy(dtype=np.float64), rows.drop_duplicates("fold")
    problem = next(
        (
            f"{status} on {count} of {len(fits)} folds"
            for status in ("failed", "degenerate")
            if (count := int((fits["status"] == status).sum()))
        ),
        None,
    )
    if problem is None and np.isnan(values).any():
        problem = f"has no {metric.noun}"
    interval = interval_of_mean(values, test_share) if problem is None else None
    return FoldScores(
        model=model,
        values=values,
        mean=float(np.mean(values)),
        interval=None if interval is None else (metric.clipped(interval[0]), metric.clipped(interval[1])),
        other_means={str(name): float(wide[name].mean(skipna=False)) for name in wide.columns if name != metric.name},
        fit_seconds=float(fits["fit_cpu_seconds"].sum()),
        tune_seconds=float(fits["tune_cpu_seconds"].sum()),
        trials=int(fits["trials"].sum()) if "trials" in fits else 0,
        problem=problem,
    )


def costs(results: pd.DataFrame) -> pd.DataFrame:
    """CPU seconds over all data sets and folds, one row per model: tuning, fits on the outer folds, total, share."""
    sums = results.drop_duplicates(FIT).groupby("model", sort=False)[["tune_cpu_seconds", "fit_cpu_seconds"]].sum()
    cost = sums.rename(columns={"tune_cpu_seconds": "tuning", "fit_cpu_seconds": "fitting"})
    cost["total"] = cost["tuning"] + cost["fitting"]
    everything = cost["total"].sum()
    cost["share"] = cost["total"] / everything if everything > 0 else 0.0
    return cost


def total_cost(results: pd.DataFrame) -> float:
    """CPU seconds of all models together.

    An ensemble and the model that it is made of share one study, which is in the rows of both with the same cost, to
    the last bit. It counts once.
    """
    fits = results.drop_duplicates(FIT)
    studies = fits.drop_duplicates(["dataset", "fold", "tune_cpu_seconds"])
    return float(fits["fit_cpu_seconds"].sum() + studies["tune_cpu_seconds"].sum())


def fit_seconds(results: pd.DataFrame) -> pd.DataFrame:
    """Mean CPU seconds of a fit, without tuning: one row per data set, one column per model."""
    fits = results[results["status"] != "failed"].drop_duplicates(FIT)
    wide = fits.groupby(["dataset", "model"])["fit_cpu_seconds"].mean().unstack("model")
    return wide.reindex(index=results["dataset"].unique(), columns=results["model"].unique())


def fits_per_model(results: pd.DataFrame) -> pd.Series:
    """How many outer folds each model was fitted on."""
    return results.drop_duplicates(FIT).groupby("model")["fold"].size()
