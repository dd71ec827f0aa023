"""Which models beat guessing, and that nothing is registered if none does."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from ldep.model import unfolded
from ldep_pipeline.commands.main import main
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.execution import results
from ldep_pipeline.fitting.training_data import Partition, TrainingData, group_folds, stratified_folds, time_folds
from ldep_pipeline.metrics.evaluation import classes_of, guess
from ldep_pipeline.registry import download, skill

MODELS = {
    "logistic": {"class": "sklearn.linear_model.LogisticRegression"},
    "tree": {"class": "sklearn.tree.DecisionTreeClassifier"},
    "ldep": {"class": "ldep.LDEPClassifier", "params": {"r1": 3, "r2": 3, "alpha": 0.1, "n_init": 1, "max_iter": 30}},
}


def test_guessing_is_the_best_rule_without_features():
    train, test = np.array(["a"] * 7 + ["b"] * 3), np.array(["a", "a", "a", "b"])
    classes = classes_of(train)
    assert guess("accuracy", train, test, classes) == 0.75
    assert guess("balanced_accuracy", train, test, classes) == 0.5
    assert guess("f1", train, test, classes) == pytest.approx(2 * 0.25 / 1.25)  # every row is the rarer class
    assert guess("roc_auc", train, test, classes) == 0.5
    assert guess("average_precision", train, test, classes) == 0.25
    shares = -(3 * np.log(0.7) + np.log(0.3)) / 4
    assert guess("log_loss", train, test, classes) == pytest.approx(shares)
    assert guess("roc_auc", train, test[:3], classes) is None


def data_of(y: np.ndarray, X: np.ndarray, partition: Partition | None = None) -> TrainingData:
    return TrainingData(X, y, partition or Partition(stratified_folds(y, 5, 0)[:, None]), ["a", "b"], "label")


def out_of_fold(data: TrainingData) -> np.ndarray:
    folds = data.partition.test_fold[:, 0]
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(data.n_folds)]
    return cross_val_predict(LogisticRegression(), data.X, data.y, cv=splits, method="decision_function")


def test_association_has_the_size_that_chance_gives():
    """Of models that were cross-validated on tables without any relation it is no larger than a normal variable."""
    rng = np.random.default_rng(0)
    values = []
    for _ in range(100):
        y = rng.choice(["a", "b"], size=200, p=[0.85, 0.15])
        data = data_of(y, rng.normal(size=(200, 2)))
        values.append(skill.association(unfolded(out_of_fold(data)), data))
    assert np.mean(values) == pytest.approx(0.0, abs=0.3)
    assert 0.7 < np.std(values) < 1.1
    y = rng.choice(["a", "b", "c"], size=120)
    scores = rng.normal(size=(120, 3)) + 1.5 * (y[:, None] == np.array(["a", "b", "c"]))
    assert skill.association(scores, data_of(y, rng.normal(size=(120, 2)))) > 5


def test_rows_of_one_group_are_no_separate_evidence():
    """20 machines with 30 rows each: class and features belong to the machine, and have nothing to do with it."""
    alone, grouped = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        machine = np.repeat(np.arange(20), 30)
        y = rng.permutation(np.repeat(["a", "b"], 10))[machine]
        X = rng.normal(size=(20, 2))[machine] + 0.01 * rng.normal(size=(600, 2))
        partition = Partition(group_folds(y, machine, 5, 0)[:, None], group=machine)
        data = data_of(y, X, partition)
        decisions = unfolded(out_of_fold(data))
        grouped.append(skill.association(decisions, data))
        alone.append(skill.association(decisions, data_of(y, X, Partition(partition.test_fold))))
    assert max(alone) > 3
    assert max(grouped) < 2.5


def forward(data: TrainingData) -> np.ndarray:
    """Decision values of a logistic regression that has seen earlier rows only, or other groups only."""
    decisions = np.full((len(data.y), 2), np.nan)
    for fold in range(data.n_folds):
        train, test = data.train_rows(fold), data.test_rows(fold)
        values = LogisticRegression().fit(data.X[train], data.y[train]).decision_function(data.X[test])
        decisions[test] = unfolded(values)
    return decisions


def of_time(seed: int, memory: float, signal: float, rows: int = 400) -> TrainingData:
    """Features and classes that drift, each for itself, and that share a signal."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(rows, 3))
    for row in range(1, rows):
        steps[row] = memory * steps[row - 1] + np.sqrt(1 - memory**2) * steps[row]
    level = steps[:, 2] + signal * steps[:, 0]
    y = np.where(level > np.median(level), "b", "a")
    return data_of(y, steps[:, :2], Partition(time_folds(np.arange(rows), 5)[:, None], time=np.arange(rows)))


def test_an_evident_effect_is_found_in_rows_by_time():
    strong = [skill.association(forward(data), data) for data in (of_time(seed, 0.0, 2.0) for seed in range(20))]
    assert min(strong) > 4


def test_a_drift_of_features_and_classes_is_no_effect():
    found = [skill.association(forward(data), data) for data in (of_time(seed, 0.9, 0.0) for seed in range(60))]
    assert np.mean(np.array(found) > 2.5) <= 2 / 60


def test_an_evident_effect_is_found_in_few_groups():
    rng = np.random.default_rng(0)
    machine = rng.integers(0, 8, size=400)
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=400) > 0, "b", "a")
    data = data_of(y, X, Partition(group_folds(y, machine, 5, 0)[:, None], group=machine))
    assert skill.association(forward(data), data) > 2.5


def project(folder: Path, frame: pd.DataFrame, **sections: object) -> None:
    (folder / "data/own").mkdir(parents=True)
    frame.to_csv(folder / "data/own/mine.csv", index=False)
    values = {
        "datasets": ["mine"],
        "own_data": {"mine": {"path": "data/own/mine.csv", "target": "label"}},
        "models": list(MODELS),
        "classifiers": MODELS,
        "execution": {"n_jobs": 1},
        "tracking": {"models": False},
        **sections,
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(values))


def run_all() -> None:
    for stage in ("fetch", "impute", "split", "train", "register", "report"):
        assert main([stage]) == 0


def noise(rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(rows, 4)), columns=list("abcd"))
    return frame.assign(label=rng.choice(["no", "yes"], size=rows, p=[0.6, 0.4]))


def test_of_noise_nothing_is_registered_and_everything_says_so(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.INFO)
    project(tmp_path, noise())
    run_all()
    record = json.loads(Path("registry/mine.json").read_text())
    assert record["registered"] is None
    assert not record["beats_guessing"]
    assert record["why"].startswith("no model beats guessing; the best, ")
    assert f"mine: nothing is registered: {record['why']}." in caplog.text
    assert "mine: no model beats guessing; report/mine.html says what to try." in caplog.text
    assert mlflow.MlflowClient().search_registered_models() == []
    page = Path("report/mine.html").read_text()
    lead = page[page.index('id="summary"') :]
    assert lead.index("No model beats guessing") < lead.index("without looking at any column")
    assert "wins with" not in page
    assert "More rows would probably help" not in page
    assert "ldep serve" not in page
    with pytest.raises(UserError, match="there is no model models:/ldep-mine@champion: no model beats guessing"):
        download.load("models:/ldep-mine@champion")
    assert main(["register", "mine", "--promote"]) == 0
    promoted = json.loads(Path("registry/mine.json").read_text())
    assert promoted["decision"] == "champion"
    assert promoted["why"] == f"requested by --promote; by the rule: {record['why']}"


def test_a_degenerate_fit_is_named_and_never_registered(tmp_path, monkeypatch):
    """With so strong a penalty all slopes are zero: the decision value is the same for every row."""
    monkeypatch.chdir(tmp_path)
    frame = noise().assign(a=lambda table: table["a"] + 2 * (table["label"] == "yes"))
    flat = {"class": "sklearn.linear_model.LogisticRegression", "params": {"C": 1e-12}}
    project(tmp_path, frame, models=["flat", "logistic"], classifiers={**MODELS, "flat": flat})
    run_all()
    table = results.read("mine").query("model == 'flat' and metric == 'accuracy'")
    assert set(table["status"]) == {"degenerate"}
    assert table["message"].str.startswith("degenerate fit: the decision value is ").all()
    assert table["value"].notna().all()
    record = json.loads(Path("registry/mine.json").read_text())
    assert (record["model"], record["decision"]) == ("logistic", "champion")
    assert "says the same about every row" in record["guessing"]["models"]["flat"]["problem"]
    assert "degenerate on 5 of 5 folds" in Path("report/mine.html").read_text()


def test_a_rare_class_found_by_scores_is_served_with_answers_of_both_classes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    rare = rng.random(600) < 0.04
    frame = pd.DataFrame({"a": rng.normal(size=600) + 2.0 * rare, "b": rng.normal(size=600)})
    project(tmp_path, frame.assign(label=np.where(rare, "fail", "fine")), metric="average_precision")
    run_all()
    record = json.loads(Path("registry/mine.json").read_text())
    assert record["decision"] == "champion"
    answers = download.load("models:/ldep-mine@champion").predict(frame)
    assert {"fail", "fine"} == set(answers)


def more_rows(count: int) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=list("abc"))
    noisy = frame["a"] + frame["b"] + 0.5 * rng.normal(size=400)
    return frame.assign(label=np.where(noisy > 0, "yes", "no"))[:count]


def test_after_new_rows_the_champion_is_measured_again_and_the_better_one_serves(tmp_path, monkeypatch):
    """First the same settings, which have seen more rows; then worse ones, which must not serve."""
    monkeypatch.chdir(tmp_path)
    project(tmp_path, more_rows(200), models=["logistic"])
    run_all()
    more_rows(300).to_csv("data/own/mine.csv", index=False)
    run_all()
    record = json.loads(Path("registry/mine.json").read_text())
    assert (record["version"], record["decision"]) == (2, "champion")
    assert "its settings, fitted on these, have accuracy" in record["why"]
    assert record["champion"] == {"version": 2, "model": "logistic"}
    more_rows(400).to_csv("data/own/mine.csv", index=False)
    values = yaml.safe_load(Path("params.yaml").read_text())
    Path("params.yaml").write_text(yaml.safe_dump({**values, "models": ["tree"]}))
    run_all()
    record = json.loads(Path("registry/mine.json").read_text())
    assert (record["version"], record["decision"]) == (3, "challenger")
    assert "worse by more than a standard error" in record["why"]
    assert record["champion"] == {"version": 2, "model": "logistic"}
    page = Path("report/mine.html").read_text()
    assert "answers with version 2 (logistic)" in page
    assert "ldep serve mine --alias challenger" in page
    assert "models:/ldep-mine/3" in page
    assert "models:/ldep-mine@champion" not in page


def test_a_linear_champion_is_explained_exported_and_explored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    project(tmp_path, more_rows(200), models=["logistic"])
    run_all()
    served = download.load("models:/ldep-mine@champion")
    (answer,) = served.predict(more_rows(1), {"output": "full"})
    parts = answer["explanation"]
    assert parts["bias"] + sum(parts["contributions"].values()) == pytest.approx(answer["decision"])
    (changed,) = served.predict(more_rows(1), {"output": "counterfactual"})
    assert changed["counterfactual"]["class"] != changed["class"]
    uri = "models:/ldep-mine@champion"
    assert main(["export", uri, "--format", "onnx", "-o", "model.onnx"]) == 0
    assert main(["export", uri, "--format", "c", "-o", "model.h"]) == 0
    assert main(["explore", uri, "-o", "model.html"]) == 0
    record = json.loads(Path("registry/mine.json").read_text())
    assert record["examination"]["rows"]["exact"]
    assert record["examination"]["importance"]["method"] == "shares"
