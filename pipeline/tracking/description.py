"""The text on the page of a run."""

from __future__ import annotations

import numpy as np

from pipeline.fitting.metrics import METRICS
from pipeline.tracking import settings
from pipeline.tracking.run_record import Folds, RunRecord


def text(record: RunRecord) -> str:
    rows, features = record.rows.X.shape
    paragraphs = [
        f"**{record.model}** on **{record.dataset}** ({rows:,} rows, {features} features, from "
        f"{record.provenance.source}), {record.plan.partition.in_words()}."
    ]
    name = record.plan.metric
    summaries = [_summary(record, metric) for metric in dict.fromkeys([name, "accuracy"])]
    if any(summaries):
        paragraphs.append(f"{', '.join(filter(None, summaries))}: mean and sample deviation over the folds.")
    for fold, fit in sorted(record.folds.items()):
        if fit["status"] == "failed":
            paragraphs.append(f"Fold {fold} failed: {fit['message']}")
    paragraphs += [
        _fold_table(record.folds, name),
        "*Model metrics*: `fold/...` has one step per fold; `curve/objective` shows the training of fold 0, one step "
        "per iteration. *Artifacts*: `confusion.png` counts the errors of all test folds; `roc.png` and "
        "`precision_recall.png` show the curves of each fold, or of each class.",
    ]
    return "\n\n".join(paragraphs)


def _summary(record: RunRecord, name: str) -> str:
    values = [value for fit in record.successful if (value := fit["metrics"].get(name)) is not None]
    if not values:
        return ""
    metric = METRICS[name]
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return f"`{name}` **{metric.text(float(np.mean(values)), deviation)}{' %' if metric.is_share else ''}**"


def _fold_table(folds: Folds, metric: str) -> str:
    """One row per fold: its value of the metric, its seconds, and the settings in which the folds differ."""
    texts = settings.by_name(folds)
    differing = [name for name, values in texts.items() if len(set(values)) > 1]
    head = ["fold", f"`{metric}`", "fit, s", *(f"`{name}`" for name in differing)]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for place, (fold, fit) in enumerate(sorted(folds.items())):
        value = fit.get("metrics", {}).get(metric)
        score = "failed" if fit["status"] == "failed" else "" if value is None else f"{value:.4f}"
        seconds = f"{fit['fit_seconds']:.2f}" if fit.get("fit_seconds") is not None else ""
        cells = [str(fold), score, seconds, *(texts[name][place] for name in differing)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
