"""The table of metrics: each value by hand, and everything that follows from an entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.execution import results
from ldep_pipeline.execution.scheduler import tune_on_all_rows
from ldep_pipeline.fitting.specs import Costs
from ldep_pipeline.fitting.study import open_study
from ldep_pipeline.metrics import evaluation, metric
from ldep_pipeline.metrics.evaluation import classes_of
from ldep_pipeline.metrics.metric import METRICS, Metric
from ldep_pipeline.stages import train
from tests.support import tiny

# Class b is the rarer one. One of its rows is predicted as a.
Y = np.array(["a", "a", "a", "b", "b"])
PREDICTED = np.array(["a", "a", "a", "a", "b"])
SCORES = [0.1, 0.2, 0.7, 0.6, 0.9]
COSTS = Costs(false_positive=1.0, false_negative=5.0)


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


def expected(calibrated: bool) -> dict[str, Any]:
    return {
        "accuracy": pytest.approx(4 / 5),
        "balanced_accuracy": pytest.approx((1 + 1 / 2) / 2),
        "f1": pytest.approx(2 / 3),
        "f1_macro": pytest.approx((6 / 7 + 2 / 3) / 2),
        "roc_auc": pytest.approx(5 / 6),  # of 3 x 2 pairs one is in the wrong order
        "average_precision": pytest.approx((1 + 2 / 3) / 2),
        "log_loss": pytest.approx(-np.mean(np.log([0.9, 0.8, 0.3, 0.6, 0.9]))) if calibrated else None,
        # Confidences 0.9 and 0.9, 0.8, 0.7 (wrong), 0.6, each in a bin of its own
        "calibration_error": pytest.approx((0.2 + 0.2 + 0.7 + 0.4) / 5) if calibrated else None,
        "cost": pytest.approx(5 / 5),
    }


@pytest.mark.parametrize("kind", ["decision_function", "predict_proba"])
def test_values_by_hand(kind):
    values = evaluation.evaluate(Fixed(kind, SCORES), None, Y, PREDICTED, classes_of(Y, COSTS))
    assert values == expected(calibrated=kind == "predict_proba")


def test_rounding_does_not_leave_the_bounds():
    """43 times 1/43 sums to 1.0000000000000002, which the reader of results would refuse."""
    y = np.repeat(["a", "b"], 43)
    model = Fixed("decision_function", list(range(86)))
    assert evaluation.score("average_precision", model, None, y, y, classes_of(y)) == 1.0


def test_the_rarer_class_counts_whichever_comes_first():
    renamed, predicted = np.where(Y == "b", "a", "b"), np.where(PREDICTED == "b", "a", "b")
    model = Fixed("predict_proba", [1 - score for score in SCORES])
    assert evaluation.evaluate(model, None, renamed, predicted, classes_of(renamed, COSTS)) == expected(calibrated=True)


class Three(Fixed):
    classes_ = np.array(["a", "b", "c"])

    def probabilities(self, X: Any) -> np.ndarray:
        return self.scores


def test_three_classes():
    y, predicted = np.array(["a", "b", "c", "c"]), np.array(["a", "b", "c", "b"])
    model = Three("predict_proba", [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8], [0.1, 0.7, 0.2]])
    values = evaluation.evaluate(model, None, y, predicted, classes_of(y, COSTS))
    assert values["balanced_accuracy"] == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert values["f1"] == values["f1_macro"] == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)
    # Class b has a wrong pair of three, and class c a tie of four pairs.
    assert values["roc_auc"] == pytest.approx((1 + 2 / 3 + 7 / 8) / 3)
    assert values["log_loss"] == pytest.approx(-np.mean(np.log([0.8, 0.6, 0.8, 0.2])))
    assert values["cost"] is None


def test_a_class_without_training_rows_has_the_probability_zero():
    y = np.array(["a", "b", "c"])
    model = Fixed("predict_proba", [0.2, 0.9, 0.6])
    values = evaluation.evaluate(model, None, y, np.array(["a", "b", "b"]), classes_of(y))
    assert values["log_loss"] == pytest.approx(-np.mean(np.log([0.8, 0.9, metric.SMALLEST])))


def test_a_metric_is_none_if_the_model_has_not_what_it_needs_or_the_rows_have_a_single_class():
    classes = classes_of(Y)
    assert evaluation.score("roc_auc", Fixed("predict", []), None, Y, PREDICTED, classes) is None
    assert evaluation.score("roc_auc", Fixed("decision_function", [1.0]), None, Y[:1], PREDICTED[:1], classes) is None
    assert evaluation.score("log_loss", Fixed("decision_function", SCORES), None, Y, PREDICTED, classes) is None
    assert evaluation.score("cost", Fixed("predict", []), None, Y, PREDICTED, classes) is None


def test_comparisons_follow_the_direction_of_a_metric():
    assert METRICS["accuracy"].better(0.9, 0.8)
    assert METRICS["log_loss"].better(0.2, 0.3)
    assert METRICS["log_loss"].ranked({"x": 0.3, "y": 0.2, "z": 0.3}) == ["y", "x", "z"]
    assert METRICS["accuracy"].text(0.912, 0.01) == "91.2 ± 1.0"
    assert METRICS["log_loss"].text(0.912) == "0.912"


def test_a_cost_needs_costs():
    with pytest.raises(UserError, match="metric: cost needs costs"):
        tiny.checked(metric="cost")
    assert tiny.checked(metric="cost", costs={"false_positive": 1.0, "false_negative": 5.0}).costs == COSTS


def test_a_new_metric_needs_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be tuned and registered by, and it is in the results, within its bounds."""
    tiny.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=rf"'metric': it is one of {', '.join(METRICS)}"):
        tiny.checked(metric="mcc")
    monkeypatch.setitem(METRICS, "mcc", Metric("mcc", "MCC", "Matthews correlation", matthews_corrcoef, low=-1))
    train.run("tiny", tiny.checked(models=["ldep"], metric="mcc"))
    table = results.read("tiny").query("metric == 'mcc'")
    assert len(table) == 3
    assert table["value"].between(-1, 1).all()


def test_tuning_by_a_loss_chooses_the_smallest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    forest = {
        "class": "sklearn.ensemble.RandomForestClassifier",
        "params": {"n_estimators": 5},
        "search": {"max_depth": {"choices": [1, 3]}},
        "first": [{"max_depth": 1}, {"max_depth": 3}],
        "trials": 2,
    }
    params = tiny.checked(models=["forest"], classifiers={"forest": forest}, metric="log_loss", tuning={"behind": 1.0})
    outcome = tune_on_all_rows("tiny", "forest", params)
    journal = next(Path(".ldep/studies").iterdir())
    values = [trial.value for trial in open_study(journal, "log_loss").get_trials()]
    assert outcome["value"] == min(values) < max(values)
