"""Accuracies in per cent, one row per data set and one column per model, and their summary over the data sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import median_abs_deviation

from pipeline.reporting import labels, paper


@dataclass(frozen=True)
class Accuracies:
    """Mean and sample deviation over the folds. NaN where a model failed on a fold, or was not run."""

    mean: pd.DataFrame
    std: pd.DataFrame
    failed: pd.DataFrame

    @property
    def datasets(self) -> list[str]:
        return list(self.mean.index)

    @property
    def models(self) -> list[str]:
        return list(self.mean.columns)

    @property
    def complete(self) -> list[str]:
        """The models that have a result on every data set."""
        return [model for model in self.models if self.mean[model].notna().all()]

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

    def best(self) -> pd.DataFrame:
        """True where a model's mean, rounded as it is printed, is the highest of its row."""
        printed = self.mean.map(_as_printed)
        return printed.eq(printed.max(axis=1), axis=0)


def from_results(results: pd.DataFrame) -> Accuracies:
    """Summarise the folds of a tidy table of results."""
    accuracy = results[results["metric"] == "accuracy"]
    accuracy = accuracy.assign(failed=accuracy["status"] == "failed")
    datasets, models = results["dataset"].unique(), results["model"].unique()
    groups = accuracy.groupby(["dataset", "model"])

    def wide(column: pd.Series) -> pd.DataFrame:
        return column.unstack("model").reindex(index=list(datasets), columns=list(models))

    failed = wide(groups["failed"].any()).eq(True)
    mean = wide(100 * groups["value"].mean()).astype(float).mask(failed)
    std = wide(100 * groups["value"].std(ddof=1)).astype(float).mask(failed)
    return Accuracies(mean, std, failed)


def published_means(datasets: list[str]) -> pd.DataFrame:
    """The means that the paper prints: one row per data set that it has, one column per model of the paper."""
    table = paper.table()
    shared = [name for name in datasets if name in table]
    columns = {model: [table[name][model][0] for name in shared] for model in paper.MODELS}
    return pd.DataFrame(columns, index=shared, dtype=float)


def published(model: str, dataset: str) -> tuple[float, float] | None:
    """The mean and deviation that the paper prints for one of our models, if it has both model and data set."""
    row = paper.table().get(dataset)
    return row[labels.PAPER_COLUMNS[model]] if row and model in labels.PAPER_COLUMNS else None


def _as_printed(value: float) -> float:
    return round(value, 1)
