"""The threshold of the decision value: when it is chosen, and that every form of the model follows it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.model import folded, unfolded
from ldep_pipeline.commands.main import main
from ldep_pipeline.config import params
from ldep_pipeline.execution import results, thresholds
from ldep_pipeline.fitting.specs import Costs
from ldep_pipeline.fitting.training_data import Partition, TrainingData, stratified_folds, time_folds
from ldep_pipeline.metrics.evaluation import classes_of, score_at
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.registry import download, final_model
from ldep_pipeline.report import collector
from ldep_pipeline.stages import register
from tests.support import registered

ROWS = 600


@pytest.fixture(scope="module")
def data() -> TrainingData:
    """One row in ten is `rare`, and its feature is larger by 1.5."""
    rng = np.random.default_rng(0)
    rare = rng.random(ROWS) < 0.1
    X = rng.normal(size=(ROWS, 2)) + 1.5 * rare[:, None]
    y = np.where(rare, "rare", "usual")
    return TrainingData(X, y, Partition(stratified_folds(y, 5, 0)[:, None]), ["a", "b"], "label")


@pytest.fixture(scope="module")
def values(data) -> np.ndarray:
    """Log-odds of the second class, `usual`."""
    return 2.25 - 1.5 * data.X.sum(axis=1) + np.log(9)


COSTS = Costs(false_positive=1.0, false_negative=8.0)


def of_folds(data, values) -> dict[int, np.ndarray]:
    return {fold: unfolded(values[data.test_rows(fold)]) for fold in range(data.n_folds)}


def mean_over_folds(data, values, metric: str, at: Sequence[float]) -> float:
    classes = classes_of(data.y, COSTS)
    tests = [data.test_rows(fold) for fold in range(data.n_folds)]
    return float(np.mean([score_at(metric, data.y[t], values[t], value, classes) for t, value in zip(tests, at)]))


@pytest.mark.parametrize("metric", ["balanced_accuracy", "f1", "f1_macro", "cost"])
def test_a_metric_of_rare_classes_moves_the_threshold_towards_them(data, values, metric):
    chosen = thresholds.choose(metric, COSTS, data, of_folds(data, values))
    assert chosen is not None
    assert chosen.served > 0.3  # more rows are `rare`
    with_threshold = mean_over_folds(data, values, metric, chosen.folds)
    without = mean_over_folds(data, values, metric, [0.0] * data.n_folds)
    assert METRICS[metric].gain(with_threshold, without) > 0.01


def test_the_threshold_of_a_fold_does_not_depend_on_its_rows(data, values):
    before = thresholds.choose("f1", None, data, of_folds(data, values))
    inside = data.test_rows(2)
    swapped = replace(data, y=np.where(inside, np.random.default_rng(1).permutation(data.y), data.y))
    after = thresholds.choose("f1", None, swapped, of_folds(data, np.where(inside, -values, values)))
    assert after.folds[2] == before.folds[2]
    assert after.folds[1] != before.folds[1]  # it is chosen by these rows, among others


def test_folds_by_time_are_judged_by_earlier_rows_only(data, values):
    time = np.arange(ROWS)
    by_time = replace(data, partition=Partition(time_folds(time, 4)[:, None], time=time))
    before = thresholds.choose("cost", COSTS, by_time, of_folds(by_time, values))
    assert before.folds[0] == 0.0  # there are no unseen earlier rows
    late = by_time.test_rows(3)
    after = thresholds.choose("cost", COSTS, by_time, of_folds(by_time, np.where(late, values + 0.1, values)))
    assert after.folds == before.folds  # the last block chooses for no other one


def test_no_threshold_is_chosen_where_it_gains_nothing(data, values):
    for metric in ("accuracy", "roc_auc", "average_precision", "log_loss"):
        assert thresholds.choose(metric, None, data, of_folds(data, values)) is None
    assert thresholds.choose("f1", None, data, {}) is None


def test_a_model_that_would_always_answer_the_same_gets_a_threshold(data, values):
    """Whoever compares by average precision wants to find the rare rows; at 0 this model finds none."""
    chosen = thresholds.choose("average_precision", None, data, of_folds(data, values + 20))
    assert chosen is not None
    assert 0 < np.mean(values + 20 < chosen.served) < 0.5


def test_what_is_measured_is_what_is_served(tmp_path, monkeypatch):
    """The results, the ranking, the registered threshold and the errors of the page are of the same procedure."""
    monkeypatch.chdir(tmp_path)
    rare = np.random.default_rng(0).random(300) < 0.15
    X = np.random.default_rng(1).normal(size=(300, 2)) + 1.6 * rare[:, None]
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": np.where(rare, "rare", "usual")})
    Path("data/own").mkdir(parents=True)
    frame.to_csv("data/own/few.csv", index=False)
    values = {
        "datasets": ["few"],
        "own_data": {"few": {"path": "data/own/few.csv", "target": "label"}},
        "metric": "balanced_accuracy",
        "models": ["logistic"],
        "classifiers": {"logistic": {"class": "sklearn.linear_model.LogisticRegression"}},
        "execution": {"n_jobs": 1},
    }
    Path("params.yaml").write_text(yaml.safe_dump(values))
    for stage in ("fetch", "impute", "split", "train", "register"):
        assert main([stage]) == 0
    record, table = json.loads(Path("registry/few.json").read_text()), results.read("few")
    measured = table.query("metric == 'balanced_accuracy'")
    assert record["metric_at_threshold"] == pytest.approx(measured["value"].mean())
    assert record["metrics"]["balanced_accuracy"] == record["metric_at_threshold"]
    assert record["metric_at_threshold"] > record["metric_at_default"] + 0.03
    assert (measured["served_threshold"] == record["threshold"]).all()
    every = mlflow.MlflowClient().search_runs([mlflow.MlflowClient().get_experiment_by_name("ldep").experiment_id])
    (run,) = (run for run in every if "mlflow.parentRunId" not in run.data.tags)
    assert run.data.metrics["balanced_accuracy"] == pytest.approx(record["metric_at_threshold"], abs=1e-4)
    page = collector.of_dataset(table, params.load(), Path())
    recalls = np.diag(page.confusion) / page.confusion.sum(axis=1)
    assert recalls.mean() == pytest.approx(record["metric_at_threshold"], abs=0.02)
    served = download.load("models:/ldep-few@champion")
    share = np.mean(np.array(served.predict(frame.drop(columns="label"))) == "rare")
    assert share == pytest.approx(page.confusion[:, 0].sum() / 300, abs=0.05)


@pytest.mark.parametrize(
    "model",
    [LDEPClassifier(r1=3, r2=4, random_state=0), LDEPClassifierCV(alphas=[1.0], pieces=[(2, 2)], random_state=0)],
)
def test_an_ldep_takes_the_threshold_into_itself(data, model):
    pipe = make_pipeline(StandardScaler(), model).fit(data.X, data.y)
    Z = pipe[0].transform(data.X)
    before, explained = pipe[-1].decision_function(Z), pipe[-1].explain(Z)
    probability = pipe[-1].predict_proba(Z) if isinstance(model, LDEPClassifierCV) else None
    assert final_model.absorb(pipe[-1], 0.25)
    np.testing.assert_allclose(pipe[-1].decision_function(Z), before - 0.25, atol=1e-12)
    after = pipe[-1].explain(Z)
    np.testing.assert_allclose(after.bias, explained.bias - 0.25, atol=1e-12)
    np.testing.assert_allclose(after.contributions, explained.contributions, atol=1e-12)
    if probability is not None:
        np.testing.assert_allclose(pipe[-1].predict_proba(Z), probability, atol=1e-12)


@pytest.mark.parametrize("model", ["linear", "ldep"])
def test_a_registered_model_answers_by_its_threshold(trained_project, monkeypatch, model):
    """The threshold is given here: accuracy does not choose one."""
    fixed = final_model.Threshold(0.3, "accuracy", 0.9, 0.8)
    monkeypatch.setattr(final_model, "threshold_of", lambda *_: fixed)
    values = registered.with_candidates(model)
    record = register.run(registered.NAME, values, promote=True)
    assert (record["threshold"], record["metric_at_threshold"], record["metric_at_default"]) == (0.3, 0.9, 0.8)
    assert json.loads(Path(f"registry/{registered.NAME}.json").read_text())["threshold"] == 0.3
    served = download.load(f"models:/{registered.MODEL}/{record['version']}")
    monkeypatch.setattr(final_model, "threshold_of", lambda *_: None)
    plain = final_model.fit(registered.planned(model, values), values, Path())
    frame = registered.rows().drop(columns="sold")
    decision = plain.pipe.decision_function(frame)
    answers = served.predict(frame, {"output": "full"})
    np.testing.assert_allclose([answer["decision"] for answer in answers], decision - 0.3, atol=1e-9)
    assert [answer["class"] for answer in answers] == [served.classes[int(value >= 0.3)] for value in decision]
    assert served.predict(frame) == [answer["class"] for answer in answers]
    shares = [answer["probability"][served.classes[1]] for answer in answers]
    np.testing.assert_allclose(shares, plain.link(decision)[:, 1], atol=1e-9)
    if model == "ldep":
        first = answers[0]["explanation"]
        assert first["bias"] + sum(first["contributions"].values()) == pytest.approx(answers[0]["decision"])


def test_results_keep_the_default_threshold(trained_project):
    table = results.read(registered.NAME).query("model == 'ldep' and metric == 'accuracy'")
    decisions = folded(results.decisions_of("ldep", results.read_decisions(registered.NAME)))
    sold = registered.rows()["sold"] == "yes, sold"
    assert table["value"].mean() == pytest.approx(np.mean((decisions >= 0) == sold), abs=0.01)
    assert params.load().metric == "accuracy"
