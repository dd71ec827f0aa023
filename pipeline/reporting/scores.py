"""Accuracies in per cent, a row a set and a column a model; and the rows below the paper's table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import median_abs_deviation

from pipeline.reporting import labels, paper


@dataclass(frozen=True)
class Scores:
    """Mean and sample deviation over the folds. NaN where a model failed on a fold, or was not run."""

    mean: pd.DataFrame
    std: pd.DataFrame
    failed: pd.DataFrame

    @property
    def sets(self) -> list[str]:
        return list(self.mean.index)

    @property
    def models(self) -> list[str]:
        return list(self.mean.columns)

    @property
    def complete(self) -> list[str]:
        """The models with a result on every set."""
        return [model for model in self.models if self.mean[model].notna().all()]

    def over_sets(self) -> pd.DataFrame:
        """A row a model: mean and population deviation, median and median absolute deviation, over the sets it has."""
        rows = {}
        for model in self.models:
            held = self.mean[model].dropna().to_numpy()
            some = len(held) > 0
            rows[model] = {
                "mean": held.mean() if some else np.nan,
                "std": held.std(ddof=0) if some else np.nan,
                "median": np.median(held) if some else np.nan,
                "mad": median_abs_deviation(held) if some else np.nan,
                "sets": len(held),
            }
        return pd.DataFrame.from_dict(rows, orient="index")

    def best(self) -> pd.DataFrame:
        """True where a model's printed mean is the highest of its row."""
        printed = self.mean.map(lambda value: round(value, 1))
        return printed.eq(printed.max(axis=1), axis=0)


def of(table: pd.DataFrame) -> Scores:
    accuracy = table[table["metric"] == "accuracy"].assign(failed=lambda rows: rows["status"] == "failed")
    order = {key: list(table[key].unique()) for key in ("dataset", "model")}
    groups = accuracy.groupby(["dataset", "model"])

    def wide(column: pd.Series) -> pd.DataFrame:
        return column.unstack("model").reindex(index=order["dataset"], columns=order["model"])

    failed = wide(groups["failed"].any()).eq(True)
    mean = wide(100 * groups["value"].mean()).astype(float).mask(failed)
    std = wide(100 * groups["value"].std(ddof=1)).astype(float).mask(failed)
    return Scores(mean, std, failed)


def printed(sets: list[str]) -> pd.DataFrame:
    """The paper's means, a column each of its models, for those of the sets that it has."""
    table = paper.table()
    return pd.DataFrame(
        {model: [table[name][model][0] for name in sets if name in table] for model in paper.MODELS},
        index=[name for name in sets if name in table],
        dtype=float,
    )


def papers(model: str, dataset: str) -> tuple[float, float] | None:
    """The paper's mean and deviation for a model of ours on a set, if it has both."""
    held = paper.table().get(dataset)
    return held[labels.PAPERS[model]] if held and model in labels.PAPERS else None
