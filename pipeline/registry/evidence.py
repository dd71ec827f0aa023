"""What is known about the models of one data set, read from the files of the stages, for the page of that data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.config import paths
from pipeline.config.params import Params
from pipeline.data.profile import read_profile
from pipeline.data.provenance import Provenance
from pipeline.data.stage_files import read_raw
from pipeline.execution import results
from pipeline.execution.inputs import load_training_data
from pipeline.fitting.metrics import METRICS
from pipeline.fitting.training_data import TrainingData
from pipeline.reporting.own.dataset_report import DatasetReport
from pipeline.reporting.own.metric_text import MetricText
from pipeline.serving import calibration


def gather(name: str, record: Mapping[str, Any] | None, params: Params, root: Path) -> DatasetReport:
    """Everything for the page of one data set. record: what the stage register decided, if it has run."""
    folder = root / paths.DATA
    data = load_training_data(name, folder)
    raw = read_raw(name, folder)
    table = results.read(name, root / paths.RESULTS)
    labels, counts = np.unique(data.y, return_counts=True)
    scores = _scores(results.read_decisions(name, root / paths.RESULTS), table["model"].unique())
    probabilities = {model: _probabilities(values, data) for model, values in scores.items()}
    metric = record["metric"] if record is not None else params.metric
    return DatasetReport(
        name=name,
        origin=Provenance.read(name, folder).in_words(),
        target=data.target,
        metric=_metric_text(metric),
        other_metrics=[_metric_text(other) for other in METRICS if other != metric],
        results=table,
        split=data.partition.in_words(),
        test_share=_test_share(data),
        n_features=data.X.shape[1],
        classes={str(label): int(count) for label, count in zip(labels, counts)},
        y=data.y,
        scores=scores,
        probabilities={model: values for model, values in probabilities.items() if values is not None},
        record=record,
        profile=read_profile(name, folder),
        example=_example(raw, record),
    )


def _metric_text(name: str) -> MetricText:
    metric = METRICS[name]
    return MetricText(name, metric.meaning, metric.higher_is_better, metric.low, metric.high)


def _scores(decisions: pd.DataFrame, models: Iterable[str]) -> dict[str, np.ndarray]:
    """{model: one column per class}. With two classes these are -d/2 and d/2 for the decision value d."""
    scores = {}
    for model in models:
        values = results.decisions_of(model, decisions)
        if values is not None:
            scores[model] = values if values.ndim == 2 else np.column_stack([-values / 2, values / 2])
    return scores


def _probabilities(scores: np.ndarray, data: TrainingData) -> np.ndarray | None:
    """The probability of each class, by a sigmoid or softmax that was fitted without the rows of the fold."""
    labels = np.unique(data.y)
    decisions = scores if len(labels) > 2 else scores[:, 1] - scores[:, 0]
    tested = np.isfinite(scores).all(axis=1)
    probabilities = np.full(scores.shape, np.nan)
    for fold in range(data.partition.folds_per_repeat):
        inside = tested & data.test_rows(fold)
        outside = tested & ~inside
        if len(np.unique(data.y[outside])) < 2:
            return None
        values = calibration.fit(decisions[outside], data.y[outside], labels)(decisions[inside])
        probabilities[inside] = values if values.ndim == 2 else np.column_stack([1 - values, values])
    return probabilities


def _test_share(data: TrainingData) -> float:
    """Rows of a test part divided by rows of a training part, the mean over the folds."""
    shares = [data.test_rows(fold).sum() / data.train_rows(fold).sum() for fold in range(data.n_folds)]
    return float(np.mean(shares))


def _example(raw: pd.DataFrame, record: Mapping[str, Any] | None) -> dict[str, Any]:
    """A typical row as plain values, without the target."""
    typical = (((record or {}).get("examination") or {}).get("rows") or {}).get("typical") or []
    row = raw.iloc[typical[0]["row"] if typical else 0, :-1]
    return {str(column): _plain(value) for column, value in row.items()}


def _plain(value: Any) -> Any:
    if pd.isna(value):
        return None
    if isinstance(value, (float, np.floating)):
        return int(value) if float(value).is_integer() else float(value)
    return str(value)
