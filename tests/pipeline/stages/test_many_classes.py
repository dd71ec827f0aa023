"""More than two classes through every stage: from an own file to the answers of a served model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris

from ldep_pipeline.commands import score
from ldep_pipeline.commands.main import main
from ldep_pipeline.config import params
from ldep_pipeline.execution import results
from ldep_pipeline.registry import download
from ldep_pipeline.stages import register
from tests.support import registered
from tests.support.own_project import make

CLASSIFIERS: dict[str, Any] = {
    "svc": {"class": "sklearn.svm.SVC"},
    "logistic": {"class": "sklearn.linear_model.LogisticRegression"},
    "ldep": {
        "class": "ldep.LDEPClassifier",
        "params": {"n_init": 1, "max_iter": 20},
        "search": {"r1": {"choices": [2]}, "r2": {"choices": [2]}, "alpha": {"low": 0.1, "high": 1.0}},
        "trials": 2,
    },
}


def iris() -> pd.DataFrame:
    data = load_iris(as_frame=True)
    frame = data.data.rename(columns=lambda name: name.removesuffix(" (cm)"))
    return frame.assign(kind=data.target_names[data.target])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("iris"), iris(), CLASSIFIERS, metric="roc_auc")


@pytest.fixture
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project)
    mlflow.set_tracking_uri(f"sqlite:///{project}/mlflow.db")
    return project


def test_results_have_every_metric_but_the_cost(inside):
    table = results.read("mine").query("model == 'logistic'")
    assert set(table.loc[table["value"].isna(), "metric"]) == {"cost"}
    assert table.loc[table["metric"] == "accuracy", "value"].mean() > 0.9


def test_decision_values_have_a_column_per_class(inside):
    table = results.read_decisions("mine")
    assert list(table.columns[:3]) == ["svc/setosa", "svc/versicolor", "svc/virginica"]
    values = results.decisions_of("svc", table)
    truth = iris()["kind"].astype("category").cat.codes
    assert np.mean(values.argmax(axis=1) == truth) > 0.9
    assert results.decisions_of("absent", table) is None


def test_the_run_has_the_curves_and_the_winner_is_marked(inside):
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("ldep").experiment_id
    runs = {run.data.tags["model"]: run for run in client.search_runs([experiment], "tags.model LIKE '%'")}
    record = json.loads(Path("registry/mine.json").read_text())
    assert record["metric"] == "roc_auc"
    assert [model for model, run in runs.items() if run.data.tags.get("winner")] == [record["model"]]
    files = {file.path for file in client.list_artifacts(runs["svc"].info.run_id)}
    assert {"confusion.png", "roc.png", "precision_recall.png"} <= files


@pytest.mark.parametrize("model", ["svc", "ldep"])
def test_a_served_model_answers_label_probabilities_and_explanation(inside, model):
    chosen = params.load().model_copy(update={"register_": params.Register(candidates=[model])})
    record = register.run("mine", chosen, promote=True)
    served = download.load(f"models:/ldep-mine/{record['version']}")
    frame = iris()
    rows = frame.drop(columns="kind").iloc[::10]
    labels = served.predict(rows)
    assert np.mean(np.array(labels) == frame["kind"].iloc[::10]) > 0.9
    answers = json.loads(json.dumps(served.predict(rows, {"output": "full"})))
    for answer, label in zip(answers, labels, strict=True):
        probability = answer["probability"]
        assert answer["class"] == label
        assert sum(probability.values()) == pytest.approx(1)
        assert list(probability) == list(answer["decision"]) == served.classes
        explanation = answer["explanation"]
        if model == "ldep":
            assert label == max(answer["decision"], key=answer["decision"].get)
            lead = answer["decision"][label] - answer["decision"][explanation["against"]]
            assert sum(explanation["contributions"].values()) + explanation["bias"] == pytest.approx(lead)
    sets = served.predict(rows, {"output": "set", "coverage": 0.95})
    assert np.mean([kind in answer["set"] for kind, answer in zip(frame["kind"].iloc[::10], sets)]) > 0.8
    rows.to_csv("rows.csv", index=False)
    score.run(f"models:/ldep-mine/{record['version']}", Path("rows.csv"), Path("scored.csv"), explain=model == "ldep")
    scored = pd.read_csv("scored.csv")
    assert scored["class"].tolist() == labels
    columns = [f"probability_of_{label}" for label in served.classes]
    np.testing.assert_allclose(scored[columns].sum(axis=1), 1)


@pytest.mark.slow
def test_ten_classes(tmp_path):
    """scikit-learn's digits: every stage works, and the ℓ-DEP that tunes itself is no worse than the default MLP."""
    data = load_digits(as_frame=True)
    frame = data.data.assign(kind=data.target.map(lambda digit: f"digit {digit}"))
    classifiers = {
        "ldep_cv": {"class": "ldep.LDEPClassifierCV"},
        "mlp": {"class": "sklearn.neural_network.MLPClassifier"},
    }
    with registered.inside(make(tmp_path / "digits", frame, classifiers)):
        table = results.read("mine").query("metric == 'accuracy'").groupby("model")["value"].mean()
        assert table["ldep_cv"] >= table["mlp"] - 0.005
        assert main(["report"]) == 0
