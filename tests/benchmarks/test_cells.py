"""What is measured of a classifier, that an interrupted run continues, and the comparison of the cells."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.svm import LinearSVC

from benchmarks import cells, defaults, rare
from benchmarks.classifiers import LIGHTGBM, MLP, SINGLE
from benchmarks.collection.problems import FOLDS, Problem
from benchmarks.measures import calibration_error, measures
from benchmarks.report import Report


def problem(classes: int, seed: int = 0, rows: int = 200) -> Problem:
    return Problem(*make_classification(rows, 6, n_informative=4, n_classes=classes, random_state=seed))


def test_the_calibration_error_is_the_distance_between_confidence_and_accuracy():
    """Of ten rows with the probability 0.8 six are positive, and of ten with 0.1 none."""
    probability = np.repeat([0.8, 0.1], 10)
    positive = np.arange(20) < 6
    error = calibration_error(np.column_stack([1 - probability, probability]), positive.astype(int))
    assert error == pytest.approx((0.2 + 0.1) / 2)


def test_certain_and_correct_probabilities_have_no_calibration_error():
    assert calibration_error(np.eye(3), np.arange(3)) == 0.0


def test_measures_of_two_classes_are_those_of_scikit_learn():
    X, y = problem(2)
    model = LogisticRegression().fit(X, y)
    probability = model.predict_proba(X)
    found = measures(model, X, y)
    assert found["accuracy"] == pytest.approx(100 * model.score(X, y))
    assert found["auc"] == pytest.approx(roc_auc_score(y, probability[:, 1]))
    assert found["average_precision"] == pytest.approx(average_precision_score(y, probability[:, 1]))
    assert found["log_loss"] == pytest.approx(log_loss(y, probability))


def test_measures_of_more_classes_are_means_over_the_classes():
    X, y = problem(3)
    model = LogisticRegression().fit(X, y)
    found = measures(model, X, y)
    assert found["auc"] == pytest.approx(roc_auc_score(y, model.predict_proba(X), multi_class="ovr"))
    single = [average_precision_score(y == label, model.predict_proba(X)[:, label]) for label in range(3)]
    assert found["average_precision"] == pytest.approx(np.mean(single))


@pytest.mark.parametrize("classes", [2, 3])
def test_without_probabilities_decision_values_are_ranked(classes):
    X, y = problem(classes)
    found = measures(LinearSVC().fit(X, y), X, y)
    assert found["auc"] > 0.7
    assert "log_loss" not in found


def test_a_constant_model_has_no_spread():
    X, y = problem(2)
    assert measures(DummyClassifier().fit(X, y), X, y)["spread"] == 0
    assert measures(LogisticRegression().fit(X, y), X, y)["spread"] > 0.5


MAKERS = {SINGLE: lambda seed: LogisticRegression(), MLP: lambda seed: DummyClassifier()}


def test_only_missing_cells_are_measured(tmp_path):
    file = tmp_path / "cells.csv"
    problems = {"easy": problem(2), "hard": problem(3)}
    first = cells.measure(problems.items(), MAKERS, file, makers=MAKERS)
    assert len(first) == 2 * 2 * FOLDS
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:-3]) + "\n")
    again = cells.measure(problems.items(), MAKERS, file, makers=MAKERS)
    assert file.read_text().splitlines()[:-3] == lines[:-3]
    assert not again.duplicated(cells.KEYS).any()
    pd.testing.assert_frame_equal(again.drop(columns="cpu_seconds"), first.drop(columns="cpu_seconds"))


def measured(differences: dict[str, float]) -> pd.DataFrame:
    """Cells of two problems whose measures differ between the models by the given numbers."""
    return pd.DataFrame(
        [
            {"problem": name, "classes": 2, "fold": number, "model": model, "accuracy": base + plus, "auc": 0.8 + plus}
            | {"log_loss": 0.5 - plus, "average_precision": 0.3 + plus / 100, "calibration_error": 0.1}
            | {"spread": 1.0, "cpu_seconds": 2.0 + plus}
            for name, base in (("a", 70.0), ("b", 90.0))
            for number in range(FOLDS)
            for model, plus in differences.items()
        ]
    )


def test_models_are_compared_on_the_folds_that_both_have_finished():
    table = measured({SINGLE: 1.0, MLP: 0.0, LIGHTGBM: 0.5})
    lightgbm = table["model"] == LIGHTGBM
    table.loc[(table["model"] == SINGLE) & (table["fold"] == 0), "accuracy"] += 100
    table = table[~lightgbm | (table["fold"] > 1) | ((table["fold"] == 1) & (table["problem"] == "a"))]
    by_fold = defaults.measured(table, {"a": problem(2), "b": problem(2)}, 2)
    assert by_fold["accuracy"][LIGHTGBM].dropna().index.unique("fold").tolist() == [2, 3, 4]
    rows = defaults.comparison(by_fold, 2, ["b"]).set_index("other")
    assert (rows.loc[MLP, "accuracy"], rows.loc[LIGHTGBM, "accuracy"]) == (pytest.approx(21), pytest.approx(0.5))
    assert rows.loc[LIGHTGBM, ["accuracy_error", "wins", "losses"]].tolist() == [0, 2, 0]
    assert rows.loc[MLP, "time_ratio"] == pytest.approx(1.5)
    folds = defaults.summary(by_fold, 2).set_index("model")["folds"]
    assert folds.to_dict() == {SINGLE: 5, MLP: 5, LIGHTGBM: 3}


def test_a_target_that_is_missed_is_reported():
    report = Report("defaults", "Defaults")
    by_fold = defaults.measured(measured({SINGLE: 1.0, MLP: 0.0}), {"a": problem(2), "b": problem(2)}, 2)
    defaults.claims(report, by_fold, 2)
    assert [claim[-1].text for claim in report.claims] == ["yes", "no"]


def test_constant_models_are_counted_and_compared_with_lightgbm():
    table = measured({SINGLE: 1.0, LIGHTGBM: 0.0})
    table.loc[(table["model"] == SINGLE) & (table["fold"] == 0), "spread"] = 1e-9
    summary = rare.summary(table).set_index("model")
    assert summary["constant"].to_dict() == {SINGLE: 2, LIGHTGBM: 0}
    assert summary.loc[SINGLE, "difference"] == pytest.approx(0.01)
