"""The threshold of the decision value: when it is chosen, and that every form of the model follows it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.model import folded, unfolded
from ldep_pipeline.config import params
from ldep_pipeline.execution import results
from ldep_pipeline.fitting.specs import Costs
from ldep_pipeline.fitting.training_data import Partition, TrainingData, stratified_folds
from ldep_pipeline.registry import download, final_model
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


@pytest.mark.parametrize("metric", ["balanced_accuracy", "f1", "f1_macro", "cost"])
def test_a_metric_of_rare_classes_moves_the_threshold_towards_them(data, values, metric):
    chosen = final_model.choose_threshold(
        metric, Costs(false_positive=1.0, false_negative=8.0), data, unfolded(values), 0.001
    )
    assert chosen is not None
    assert chosen.value > 0.3  # more rows are `rare`
    gain = chosen.metric_at_threshold - chosen.metric_at_default
    assert (-gain if metric == "cost" else gain) > 0.01


def test_no_threshold_is_chosen_where_it_gains_nothing(data, values):
    assert final_model.choose_threshold("accuracy", None, data, unfolded(values), 0.001) is None
    for metric in ("roc_auc", "average_precision", "log_loss"):
        assert final_model.choose_threshold(metric, None, data, unfolded(values), 0.001) is None
    assert final_model.choose_threshold("f1", None, data, None, 0.001) is None


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
    """The threshold is given here: a gain on 150 rows would be luck."""
    fixed = final_model.Threshold(0.3, 0.9, 0.8)
    monkeypatch.setattr(final_model, "choose_threshold", lambda *_: fixed)
    values = registered.with_candidates(model)
    record = register.run(registered.NAME, values, promote=True)
    assert (record["threshold"], record["metric_at_threshold"], record["metric_at_default"]) == (0.3, 0.9, 0.8)
    assert json.loads(Path(f"registry/{registered.NAME}.json").read_text())["threshold"] == 0.3
    served = download.load(f"models:/{registered.MODEL}/{record['version']}")
    monkeypatch.setattr(final_model, "choose_threshold", lambda *_: None)
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
