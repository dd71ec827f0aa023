"""The table of metrics: each value by hand, and everything that follows from an entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef

from pipeline.common.errors import UserError
from pipeline.execution import results
from pipeline.fitting import metrics
from pipeline.fitting.metrics import METRICS, Metric
from pipeline.stages import train
from tests.support import tiny

# One row of class b is predicted as a.
Y = np.array(["a", "a", "a", "b", "b"])
PREDICTED = np.array(["a", "a", "a", "a", "b"])


class Fixed:
    """A model with given scores."""

    classes_ = np.array(["a", "b"])

    def __init__(self, kind: str, scores: list[float]) -> None:
        self.kind, self.scores = kind, np.array(scores)

    def __getattr__(self, name: str) -> Any:
        if name != self.kind:
            raise AttributeError(name)
        return self.decide if name == "decision_function" else self.probabilities

    def decide(self, X: Any) -> np.ndarray:
        return self.scores

    def probabilities(self, X: Any) -> np.ndarray:
        return np.column_stack([1 - self.scores, self.scores])


@pytest.mark.parametrize("kind", ["decision_function", "predict_proba"])
def test_values_by_hand(kind):
    values = metrics.evaluate(Fixed(kind, [0.1, 0.2, 0.7, 0.6, 0.9]), None, Y, PREDICTED)
    assert values == {
        "accuracy": pytest.approx(4 / 5),
        "f1_macro": pytest.approx((6 / 7 + 2 / 3) / 2),
        "balanced_accuracy": pytest.approx((1 + 1 / 2) / 2),
        "roc_auc": pytest.approx(5 / 6),  # of 3 x 2 pairs one is in the wrong order
    }


def test_without_scores_or_with_a_single_class_a_metric_of_scores_is_none():
    assert metrics.score("roc_auc", Fixed("predict", []), None, Y, PREDICTED) is None
    assert metrics.score("roc_auc", Fixed("decision_function", [1.0]), None, Y[:1], PREDICTED[:1]) is None


def test_a_new_metric_needs_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be tuned and registered by, and it is in the results, within its bounds."""
    tiny.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    known = "accuracy, f1_macro, balanced_accuracy, roc_auc"
    with pytest.raises(UserError, match=rf"'tuning\.metric': it is one of {known}"):
        tiny.checked(tuning={"metric": "mcc"})
    monkeypatch.setitem(METRICS, "mcc", Metric("Matthews correlation", matthews_corrcoef, low=-1))
    train.run("tiny", tiny.checked(models=["ldep"], tuning={"metric": "mcc"}, register={"metric": "mcc"}))
    table = results.read("tiny").query("metric == 'mcc'")
    assert len(table) == 3
    assert table["value"].between(-1, 1).all()
