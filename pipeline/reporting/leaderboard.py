"""Two tables over all models: each family in its three forms, and every metric of every model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pipeline.reporting import labels
from pipeline.reporting.report_data import ReportData
from pipeline.reporting.table import Cell, Column, Table, missing, number


@dataclass(frozen=True)
class ShownMetric:
    """A column of the table of all metrics. Shares are shown in per cent."""

    title: str
    is_share: bool = True
    higher_is_better: bool = True

    def text(self, value: float) -> str:
        return f"{100 * value:.1f}" if self.is_share else f"{value:.3f}"

    def best(self, values: pd.Series) -> float:
        return float(values.max() if self.higher_is_better else values.min())


SHOWN = {
    "accuracy": ShownMetric("Accuracy"),
    "balanced_accuracy": ShownMetric("Balanced accuracy"),
    "f1_macro": ShownMetric("Macro F1"),
    "roc_auc": ShownMetric("ROC AUC"),
    "log_loss": ShownMetric("Log-loss", is_share=False, higher_is_better=False),
    "calibration_error": ShownMetric("Calibration error", higher_is_better=False),
}


def forms(data: ReportData) -> Table | None:
    """One row per family that has more than one form, the best form of each first: mean accuracy, rank, CPU time."""
    accuracies, cost = data.accuracies, data.costs
    means = accuracies.over_datasets()["mean"]
    families: dict[str, dict[str, str]] = {}
    for model in accuracies.complete:
        family, form = labels.form_of(model)
        if family is not None:
            families.setdefault(family, {})[form] = model
    several = {family: models for family, models in families.items() if len(models) > 1}
    if not several:
        return None
    best = {form: max((means[m[form]] for m in several.values() if form in m), default=np.nan) for form in labels.FORMS}
    order = sorted(several, key=lambda family: -max(means[model] for model in several[family].values()))
    rows = []
    for family in order:
        cells = [Cell(labels.family_label(family), family=labels.family(family))]
        for form in labels.FORMS:
            cells += _form_cells(several[family].get(form), means, data.ranks, cost, best[form])
        rows.append(cells)
    columns = [Column("Family", "left")]
    for form in labels.FORMS:
        columns += [Column(form.capitalize()), Column("rank"), Column("CPU time")]
    return Table(columns, rows)


def _form_cells(model: str | None, means: pd.Series, ranks, cost: pd.DataFrame, best: float) -> list[Cell]:
    if model is None:
        return [missing(), missing(""), missing("")]
    rank = ranks.mean.get(model) if ranks is not None else None
    mean, seconds = float(means[model]), float(cost["total"][model])
    is_best = round(mean, 1) == round(best, 1)
    return [Cell(f"{mean:.1f}", mean, best=is_best), number(rank), Cell(labels.duration(seconds), seconds)]


def metrics(data: ReportData) -> Table:
    """One row per model: the mean of each metric over the data sets, and the times."""
    values = means_over_datasets(data.results, len(data.accuracies.datasets))
    fits = data.results.drop_duplicates(["dataset", "model", "fold"]).groupby("model")
    seconds = fits[["fit_cpu_seconds", "tune_cpu_seconds", "predict_seconds"]].mean()
    shown = [name for name in SHOWN if name in values and values[name].notna().any()]
    best = {name: SHOWN[name].best(values[name]) for name in shown}
    decides = shown[0] if shown else None
    order = values.index if decides is None else values[decides].sort_values(ascending=False, kind="stable").index
    rows = []
    for model in order:
        cells = [Cell(labels.label(str(model)), family=labels.family(str(model)))]
        for name in shown:
            value = values[name][model]
            text = missing() if np.isnan(value) else Cell(SHOWN[name].text(value), value, best=value == best[name])
            cells.append(text)
        cells += [Cell(labels.duration(value) if value else "", float(value)) for value in seconds.loc[model].fillna(0)]
        rows.append(cells)
    titles = [SHOWN[name].title for name in shown]
    times = ["CPU time, fit", "CPU time, tuning", "Time, predict"]
    return Table([Column("Model", "left"), *map(Column, titles + times)], rows)


def means_over_datasets(results: pd.DataFrame, datasets: int) -> pd.DataFrame:
    """The mean of each metric over the data sets; NaN where a model lacks a value on one of them."""
    per_dataset = results.groupby(["model", "metric", "dataset"], sort=False)["value"].mean().unstack("dataset")
    complete = per_dataset.mean(axis=1, skipna=False)
    if per_dataset.shape[1] < datasets:
        complete[:] = np.nan
    return complete.unstack("metric").reindex(results["model"].unique())
