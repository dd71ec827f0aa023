"""How a metric is shown: in which unit, with how many digits, under which title."""

from __future__ import annotations

import pytest

from ldep_pipeline.metrics.metric import METRICS, TIMES


@pytest.mark.parametrize(
    ("name", "value", "text", "noun", "axis"),
    [
        ("accuracy", 87.25, "87.2 ± 2.0", "accuracy", "accuracy, %"),
        ("roc_auc", 91.0, "91.0 ± 2.0", "ROC AUC", "ROC AUC, %"),
        ("f1", 91.0, "91.0 ± 2.0", "F1", "F1, %"),
        ("f1_macro", 91.0, "91.0 ± 2.0", "macro F1", "macro F1, %"),
        ("log_loss", 0.3125, "0.312 ± 2.000", "log-loss", "log-loss"),
        ("tuning_time", 300.0, "5.0 min", "tuning time", "tuning time, s"),
    ],
)
def test_a_metric_is_shown_in_its_unit(name, value, text, noun, axis):
    metric = (METRICS | TIMES)[name]
    assert (metric.shown(value, 2.0), metric.noun, metric.axis) == (text, noun, axis)
