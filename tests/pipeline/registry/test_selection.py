"""Which of several models that beat guessing is registered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldep_pipeline.config import params
from ldep_pipeline.fitting.training_data import Partition, TrainingData, stratified_folds
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.registry.selection import select

CLASSES = {
    "forest": "sklearn.ensemble.RandomForestClassifier",
    "voting": "ldep.LDEPClassifierCV",
    "single": "ldep.LDEPClassifier",
    "logistic": "sklearn.linear_model.LogisticRegression",
}
FOREST = [0.90, 0.94, 0.88, 0.93, 0.91]


@pytest.fixture(scope="module")
def data() -> TrainingData:
    y = np.array(["a", "b"] * 100)
    return TrainingData(np.zeros((200, 1)), y, Partition(stratified_folds(y, 5, 0)[:, None]), ["x"], "label")


def chosen(data: TrainingData, values: dict[str, list[float]], metric: str = "accuracy", **rule: Any) -> str:
    checked = params.check(
        {
            "datasets": ["banana"],
            "metric": metric,
            "models": list(values),
            "classifiers": {model: {"class": CLASSES[model]} for model in values},
            "register": rule,
        }
    )
    table = pd.DataFrame(
        [
            {"model": model, "fold": fold, "metric": name, "value": value, "status": "ok"}
            for model, folds in values.items()
            for fold, value in enumerate(folds)
            for name in METRICS
        ]
    )
    scores = np.where(data.y == "b", 1.0, -1.0)  # all of them are associated with the classes
    return select("banana", table, checked, data, pd.DataFrame(dict.fromkeys(values, scores))).model


def shifted(values: list[float], by: list[float]) -> list[float]:
    return [value + step for value, step in zip(values, by)]


NOISY = [-0.02, 0.015, -0.02, 0.01, 0.0]  # 0.3 points worse, with a standard error of 1.1
CLEAR = [-0.02, -0.025, -0.02, -0.02, -0.025]


def test_within_the_noise_the_simplest_that_explains_itself_is_chosen(data):
    values = {"forest": FOREST, "voting": shifted(FOREST, NOISY), "single": shifted(FOREST, NOISY)}
    assert chosen(data, values) == "single"
    assert chosen(data, values | {"logistic": shifted(FOREST, NOISY[::-1])}) == "logistic"
    assert chosen(data, values, tolerance=0.0) == "forest"
    assert chosen(data, values, tolerance=0.01) == "single"


def test_beyond_the_noise_the_best_is_chosen(data):
    values = {"forest": FOREST, "logistic": shifted(FOREST, CLEAR)}
    assert chosen(data, values) == "forest"
    assert chosen(data, values, tolerance=0.05) == "logistic"


def test_of_a_loss_less_is_better(data):
    loss = {"forest": [0.30, 0.32, 0.31, 0.33, 0.29], "logistic": [0.35, 0.37, 0.36, 0.37, 0.34]}
    assert chosen(data, loss, metric="log_loss") == "forest"
    assert chosen(data, {**loss, "logistic": shifted(loss["forest"], NOISY)}, metric="log_loss") == "logistic"
