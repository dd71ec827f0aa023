"""Two tables over all models: each family in its three forms, and every measure of every model."""

from __future__ import annotations

import pandas as pd

from pipeline.reporting import labels
from pipeline.reporting.report_data import ReportData
from pipeline.reporting.table import Cell, Column, Table, missing, number


def forms(data: ReportData) -> Table | None:
    """One row per family that has more than one form, the best form of each first: mean, rank, CPU time."""
    means = data.scores.best_first()
    places = {model: place for place, model in enumerate(means.index)}
    families: dict[str, dict[str, str]] = {}
    for model in data.scores.complete:
        family, form = labels.form_of(model)
        if family is not None:
            families.setdefault(family, {})[form] = model
    several = {family: models for family, models in families.items() if len(models) > 1}
    if not several:
        return None
    best = {}
    for form in labels.FORMS:
        models = [models[form] for models in several.values() if form in models]
        best[form] = min(models, key=places.__getitem__, default=None)
    order = sorted(several, key=lambda family: min(places[model] for model in several[family].values()))
    rows = []
    for family in order:
        cells = [Cell(labels.family_label(family), family=labels.family(family))]
        for form in labels.FORMS:
            cells += _form_cells(several[family].get(form), best[form], means, data)
        rows.append(cells)
    columns = [Column("Family", "left")]
    for form in labels.FORMS:
        columns += [Column(form.capitalize()), Column("rank"), Column("CPU time")]
    return Table(columns, rows)


def _form_cells(model: str | None, best: str | None, means: pd.Series, data: ReportData) -> list[Cell]:
    if model is None:
        return [missing(), missing(""), missing("")]
    measure, mean, seconds = data.measure, float(means[model]), float(data.costs["total"][model])
    is_best = measure.printed(mean) == measure.printed(means[best])
    rank = data.ranks.mean.get(model) if data.ranks is not None else None
    return [Cell(measure.text(mean), mean, is_best), number(rank), Cell(labels.duration(seconds), seconds)]


def metrics(data: ReportData) -> Table:
    """One row per model, the best by the measure of the report first: its mean by every measure."""
    shown = [data.metric, *data.other_metrics]
    means = {name: data.by(name).scores.best_first() for name in shown}
    first = list(means[data.metric].index)
    rows = []
    for model in [*first, *(model for model in data.scores.models if model not in first)]:
        cells = [Cell(labels.label(model), family=labels.family(model))]
        for name in shown:
            measure, values = data.measures[name], means[name]
            if model not in values:
                cells.append(missing())
                continue
            is_best = measure.printed(values[model]) == measure.printed(values.iloc[0])
            cells.append(Cell(measure.text(values[model]), float(values[model]), is_best))
        rows.append(cells)
    return Table([Column("Model", "left"), *(Column(data.measures[name].title) for name in shown)], rows)
