"""The scores of all models by one measure, one row per data set and one column per model, and their summary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.stats import median_abs_deviation

from pipeline.reporting.measures import ACCURACY, Measure, Unit

_FIT = ["dataset", "model", "fold"]


@dataclass(frozen=True)
class Scores:
    """Mean and sample deviation over the folds. NaN where a model failed on a fold, lacks a value, or was not run."""

    measure: Measure
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
        return self.measure.goodness(self.mean)

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
                "mad": median_abs_deviation(means) if has_results else np.nan,
                "datasets": len(means),
            }
        return pd.DataFrame.from_dict(rows, orient="index")

    def best_first(self) -> pd.Series:
        """The mean over the data sets of each model that has a result on all of them."""
        return self.measure.best_first(self.mean[self.complete].mean())

    def printed(self) -> pd.DataFrame:
        """The means as precisely as they are shown."""
        return self.mean.map(self.measure.printed)

    def best(self) -> pd.DataFrame:
        """True where a model's mean, rounded as it is printed, is the best of its row."""
        printed = self.printed()
        best = printed.max(axis=1) if self.measure.higher_is_better else printed.min(axis=1)
        return printed.eq(best, axis=0)


def from_results(results: pd.DataFrame, measure: Measure = ACCURACY) -> Scores:
    """Summarise the folds of a tidy table of results by one measure."""
    values = _values(results, measure)
    values = values.assign(failed=values["status"] == "failed", lacks=values["value"].isna())
    datasets, models = results["dataset"].unique(), results["model"].unique()
    groups = values.groupby(["dataset", "model"])

    def wide(column: pd.Series) -> pd.DataFrame:
        return column.unstack("model").reindex(index=list(datasets), columns=list(models))

    lacks = wide(groups["lacks"].any()).eq(True)
    return Scores(
        measure=measure,
        mean=wide(groups["value"].mean()).astype(float).mask(lacks),
        std=wide(groups["value"].std(ddof=1)).astype(float).mask(lacks),
        failed=wide(groups["failed"].any()).eq(True),
    )


def _values(results: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """One row per fit, with the value of the measure; NaN if the fit failed or the model has no such value."""
    if not measure.column:
        rows = results[results["metric"] == measure.name]
        factor = 100 if measure.unit is Unit.PERCENT else 1
        return rows.assign(value=factor * rows["value"])
    fits = results.drop_duplicates(_FIT)
    seconds = fits[measure.column].where(fits["status"] == "ok")
    # A model without tuning has 0 seconds, and no rank among those that are tuned.
    return fits.assign(value=seconds.where(seconds > 0))
