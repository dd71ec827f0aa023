"""The rule that selects which model of a data set is registered."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config.params import Params
from ldep_pipeline.fitting import models
from ldep_pipeline.fitting.specs import Classifier
from ldep_pipeline.metrics.metric import METRICS


@dataclass(frozen=True)
class Selection:
    """The selected model, the mean of each of its metrics over the folds, and the ranking of all candidates."""

    model: str
    metrics: dict[str, float]
    ranking: dict[str, float]


def select(dataset: str, table: pd.DataFrame, params: Params) -> Selection:
    """The best candidate by its mean over the folds.

    Candidates within `register.tolerance` of the best count as equal to it. Of these, models that explain their
    decisions come first, then the order in `models`.
    """
    candidates = [model for model in params.models if model in (params.register_.candidates or params.models)]
    metric = params.metric
    means = {model: _means(table[table["model"] == model]) for model in candidates}
    eligible = [model for model in candidates if metric in means[model]]
    if not eligible:
        raise UserError(
            f"{dataset}: no candidate ({', '.join(candidates) or 'the list is empty'}) has a value of {metric} for "
            f"every fold in results/{dataset}; run `ldep train {dataset}`, or change register.candidates."
        )
    values = {model: means[model][metric] for model in eligible}
    ranked = METRICS[metric].ranked(values)
    best, tolerance = values[ranked[0]], params.register_.tolerance
    equal = [model for model in eligible if METRICS[metric].gain(best, values[model]) <= tolerance]
    selected = next((model for model in equal if _explains(params.classifiers[model])), equal[0])
    return Selection(selected, means[selected], {model: values[model] for model in ranked})


def _explains(entry: Classifier) -> bool:
    return entry.ensemble is None and hasattr(models.resolve(entry.class_), "explain")


def _means(rows: pd.DataFrame) -> dict[str, float]:
    """The mean of each metric that has a value for every fold; none if a fold failed."""
    if (rows["status"] != "ok").any():
        return {}
    values = rows.pivot(index="fold", columns="metric", values="value").mean(skipna=False)
    return {metric: float(values[metric]) for metric in METRICS if pd.notna(values.get(metric))}
