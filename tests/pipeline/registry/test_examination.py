"""The examination of a selected model: what it finds on data whose truth is known."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from ldep_pipeline.execution import deciding
from ldep_pipeline.execution.code_graph import CodeGraph
from ldep_pipeline.execution.code_version import DECIDES_NO_FIT
from ldep_pipeline.execution.plan import TrainingPlan
from ldep_pipeline.execution.store import Store
from ldep_pipeline.fitting.fit import FitTask
from ldep_pipeline.fitting.specs import Classifier, Impute
from ldep_pipeline.fitting.training_data import Partition, TrainingData
from ldep_pipeline.registry import examination
from ldep_pipeline.registry.examination import examine_fold, learning_curve
from ldep_pipeline.registry.examination.explained_rows import Subject

LDEP = {"class": "ldep.LDEPClassifier", "params": {"r1": 2, "r2": 2, "alpha": 0.1}}
VOTE = {"class": "ldep.LDEPClassifierCV", "params": {"pieces": [[1, 1], [2, 2]], "alphas": [0.1, 1.0], "cv": 3}}
FOREST = {"class": "sklearn.ensemble.RandomForestClassifier", "params": {"n_estimators": 20}}


def subject(n_classes: int, metric: str = "accuracy") -> Subject:
    """The column `size` decides, `colour` has two features that say nothing."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=200)
    colour = rng.integers(2, size=200)
    y = np.array([f"class {k}" for k in np.digitize(size, np.linspace(-0.7, 0.7, n_classes - 1))])
    X = np.column_stack([size, colour, 1 - colour]).astype(float)
    raw = pd.DataFrame({"size": size, "colour": pd.Categorical(np.array(["red", "blue"])[colour]), "label": y})
    data = TrainingData(X, y, Partition((np.arange(200) % 4)[:, None]), ["size", "colour=red", "colour=blue"], "label")
    return Subject(data, raw, ["size", "colour", "colour"], 0, metric)


def task_of(entry: dict, fold: int = 0) -> FitTask:
    classifier = Classifier.model_validate(entry)
    return FitTask(
        "mine", "model", fold, classifier, Impute(), seed=1, key="", chosen={}, costs=None, study_seed=0, inner_folds=3
    )


def examine(entry: dict, n_classes: int, metric: str = "accuracy") -> dict:
    return examine_fold(task_of(entry), dict(entry["params"]), subject(n_classes, metric))


@pytest.mark.parametrize(("entry", "n_classes"), [(LDEP, 2), (FOREST, 3)])
def test_the_learning_curve_has_every_fold(tmp_path, entry, n_classes):
    """Its last point are the scores of the cross-validation; the others come from parts of the training rows."""
    about = subject(n_classes)
    plan = TrainingPlan("mine", ["model"], about.data.partition, "accuracy", "", Store(tmp_path))
    plan.fits = {("model", fold): task_of(entry, fold) for fold in range(4)}
    whole = [0.95, 0.96, 0.97, 0.98]
    rows = [
        {"fold": fold, "metric": "accuracy", "value": value, "threshold": 0.0, "settings": json.dumps(entry["params"])}
        for fold, value in enumerate(whole)
    ]
    points = learning_curve(plan, pd.DataFrame(rows), about)
    assert [point["rows"] for point in points] == [45, 150]  # in some fold, 15 rows lack a class
    assert points[-1]["scores"] == whole
    assert len(points[0]["scores"]) == 4
    assert len(set(points[0]["scores"])) > 1
    assert np.mean(points[0]["scores"]) > 0.7


@pytest.mark.parametrize(("entry", "n_classes"), [(LDEP, 2), (LDEP, 3), (FOREST, 2), (FOREST, 3)])
def test_the_column_that_decides_comes_first_with_any_model_and_any_number_of_classes(entry, n_classes):
    record = examine(entry, n_classes)
    assert record["problems"] == []
    assert list(record["importance"]["columns"]) == ["size", "colour"]
    assert len(record["rows"]["typical"]) == 3
    for row in record["rows"]["typical"]:
        assert row["predicted"] == row["truth"]
        assert {item["column"] for item in row["columns"]} == {"size", "colour"}
    for row in record["rows"]["wrong"]:
        assert row["predicted"] != row["truth"]
        assert row["rival"] == row["truth"]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("entry", [LDEP, VOTE])
def test_exact_parts_sum_to_the_difference_from_the_mean_row(entry, n_classes):
    record = examine(entry, n_classes)
    assert record["importance"]["method"] == "shares"
    rows = record["rows"]
    assert rows["exact"]
    assert rows["typical"]
    for row in [*rows["typical"], *rows["wrong"]]:
        total = sum(item["part"] for item in row["columns"]) + row["rest"]
        assert total == pytest.approx(row["margin"] - row["start"], abs=1e-9)


def test_the_same_model_gives_the_same_record():
    assert examine(FOREST, 2) == examine(FOREST, 2)


def test_raw_cells_are_shown_as_the_user_knows_them():
    values = [item["value"] for row in examine(LDEP, 2)["rows"]["typical"] for item in row["columns"]]
    assert {"red", "blue"} & set(values)


def test_a_model_that_cannot_be_fitted_is_a_problem_and_no_crash():
    record = examine({"class": "sklearn.svm.SVC", "params": {"C": -1.0}}, 2)
    assert "fit on fold 0: InvalidParameterError" in record["problems"][0]


def test_the_key_of_a_record_counts_the_packages_of_the_library_that_the_key_of_a_fit_leaves_out():
    graph = CodeGraph()
    found = graph.closure(graph.modules_in(examination.__name__), deciding.DECIDE_NOTHING, deciding.INHERITED)
    packages = {name.split(".")[1] for name in found if name.startswith("ldep.")}
    assert packages & {*DECIDES_NO_FIT} == {*examination.PACKAGES}
