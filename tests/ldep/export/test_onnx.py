"""The ONNX model gives the numbers of the estimator: to 1e-12, because sums may be taken in another order."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.svm import SVC

from ldep import LDEPClassifier, LDEPClassifierCV, StreamingLDEPClassifier
from ldep.export import NotExportable, fitted_model, program_of, to_onnx
from ldep.model import FittedModel, Maxima
from tests.support.fitted_models import classifier, mixed_class_votes, random_class_votes, random_model


def outputs(model, X: np.ndarray) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, {"X": X})))


def check_equal(estimator, X: np.ndarray, tolerance: float = 1e-12) -> None:
    answers, explanation = outputs(estimator.to_onnx(), X), estimator.explain(X)
    np.testing.assert_array_equal(answers["label"], estimator.predict(X))
    np.testing.assert_allclose(answers["decision"], estimator.decision_function(X), rtol=0, atol=tolerance)
    np.testing.assert_allclose(answers["contributions"], explanation.contributions, rtol=0, atol=10 * tolerance)
    np.testing.assert_allclose(answers["bias"], explanation.bias, rtol=0, atol=10 * tolerance)
    if hasattr(estimator, "predict_proba"):
        np.testing.assert_allclose(answers["probabilities"], estimator.predict_proba(X), rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", ["single", "votes", "refit"])
@pytest.mark.parametrize("seed", range(4))
def test_random_models(kind, seed):
    rng = np.random.default_rng(seed)
    check_equal(classifier(rng, 7, kind), rng.normal(size=(200, 7)))


@pytest.mark.parametrize("kind", ["single", "votes"])
def test_features_with_an_offset_of_1e12(kind):
    """The centres of the members differ, and no digit of the rows is lost."""
    rng = np.random.default_rng(0)
    check_equal(classifier(rng, 4, kind, offset=1e12), 1e12 + rng.normal(size=(200, 4)), tolerance=1e-10)


@pytest.mark.parametrize(
    "estimator",
    [
        LDEPClassifier(4, 4, random_state=0),
        LDEPClassifier(4, 4, loss="hinge", probability=True, random_state=0),
        LDEPClassifierCV(pieces=[(4, 4), (1, 1)], alphas=[0.1, 1.0], penalties=["norm"], random_state=0),
        LDEPClassifierCV(pieces=[(4, 4)], alphas=[0.1], penalties=["norm"], ensemble=False, random_state=0),
        StreamingLDEPClassifier(4, 4, random_state=0),
    ],
    ids=["single", "probability", "votes", "refit", "streaming"],
)
@pytest.mark.parametrize("labels", [[0, 1], ["a", "b"], [False, True], [1.0, 2.0]], ids=str)
def test_fitted_models_and_types_of_classes(estimator, labels):
    X, y = make_moons(80, noise=0.2, random_state=0)
    check_equal(estimator.fit(X, np.array(labels)[y]), X)


@pytest.mark.parametrize("offset", [0.0, 1e12])
@pytest.mark.parametrize("labels", [["a", "b", "c", "d"], [3, 5, 7, 9]], ids=str)
def test_models_of_many_classes(offset, labels):
    X, y = make_blobs(200, 3, centers=4, cluster_std=3.0, random_state=0)
    model = LDEPClassifier(3, 3, loss="hinge", random_state=0).fit(X + offset, np.array(labels)[y])
    answers, explanation = outputs(model.to_onnx(), X + offset), model.explain(X + offset)
    np.testing.assert_array_equal(answers["label"], model.predict(X + offset))
    np.testing.assert_array_equal(answers["rival"], explanation.rival)
    for name, expected in (
        ("decision", model.decision_function(X + offset)),
        ("contributions", explanation.contributions),
        ("bias", explanation.bias),
    ):
        np.testing.assert_allclose(answers[name], expected, rtol=0, atol=1e-10, err_msg=name)
    assert list(outputs(model.to_onnx(contributions=False), X[:1])) == ["label", "decision"]


def check_classes(estimator, X: np.ndarray) -> None:
    answers, explanation = outputs(estimator.to_onnx(), X), estimator.explain(X)
    np.testing.assert_array_equal(answers["label"], estimator.predict(X))
    np.testing.assert_array_equal(answers["rival"], explanation.rival)
    for name, expected in (
        ("decision", estimator.decision_function(X)),
        ("probabilities", estimator.predict_proba(X)),
        ("contributions", explanation.contributions),
        ("bias", explanation.bias),
    ):
        np.testing.assert_allclose(answers[name], expected, rtol=0, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("center", [0.0, 2.0])
def test_votes_on_several_classes(n_classes, center):
    rng = np.random.default_rng(n_classes)
    estimator = random_class_votes(n_classes, n_classes, n_features=4)
    members = [replace(member, center=center * rng.normal(size=4)) for member in estimator.model_.members]
    estimator.model_ = replace(estimator.model_, members=members)
    check_classes(estimator, rng.normal(size=(300, 4)))


@pytest.mark.parametrize(
    "estimator",
    [
        LDEPClassifier(3, 3, loss="hinge", probability=True, random_state=0),
        LDEPClassifierCV(pieces=[(3, 3)], alphas=[0.1], penalties=["norm"], ensemble=False, random_state=0),
        LDEPClassifierCV(pieces=[(3, 3)], alphas=[0.1, 1.0], penalties=["norm"], random_state=0),
    ],
    ids=["probability", "refit", "votes"],
)
def test_probabilities_of_several_classes(estimator):
    X, y = make_blobs(120, 3, centers=3, cluster_std=3.0, random_state=0)
    check_classes(estimator.fit(X, np.array(["a", "b", "c"])[y]), X)


@pytest.mark.parametrize("sizes", [(3, 2, 1), (1, 4, 1, 2)], ids=str)
def test_classes_with_different_numbers_of_pieces(sizes):
    rng = np.random.default_rng(0)
    model = random_model(0, 2, sizes)
    X = rng.normal(size=(100, 2))
    member = model.model_.members[0]
    scores = [(X @ slopes.T + offsets).max(axis=1) for slopes, offsets in zip(member.slopes, member.offsets)]
    answers = outputs(model.to_onnx(), X)
    np.testing.assert_allclose(answers["decision"], np.column_stack(scores), atol=1e-12)
    total = answers["contributions"].sum(axis=1) + answers["bias"]
    ordered = np.sort(answers["decision"], axis=1)
    np.testing.assert_allclose(total, ordered[:, -1] - ordered[:, -2], atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_difference_of_maxima_per_class(n_classes):
    """Any signs combine the maxima, here two per class: no printer knows that a class has one."""
    rng = np.random.default_rng(n_classes)
    slopes, offsets = rng.normal(size=(2 * n_classes, 3, 4)), rng.normal(size=(2 * n_classes, 3))
    signs = np.hstack([np.eye(n_classes), -np.eye(n_classes)])
    maxima = replace(Maxima.of_classes(slopes, offsets, np.zeros(4)), signs=signs)
    X = rng.normal(size=(50, 4))
    answers = outputs(to_onnx(program_of(FittedModel.single(maxima), np.arange(n_classes))), X)
    decision = maxima.decision(X)
    np.testing.assert_allclose(answers["decision"], decision, atol=1e-12)
    ordered = np.sort(decision, axis=1) if n_classes > 2 else np.column_stack([np.zeros(50), decision])
    total = answers["contributions"].sum(axis=1) + answers["bias"]
    np.testing.assert_allclose(total, ordered[:, -1] - ordered[:, -2], atol=1e-12)


def test_contributions_can_be_left_out():
    estimator = classifier(np.random.default_rng(0), 3, "votes")
    assert list(outputs(estimator.to_onnx(contributions=False), np.zeros((1, 3)))) == [
        "label",
        "decision",
        "probabilities",
    ]


def test_a_table_without_rows():
    answers = outputs(classifier(np.random.default_rng(0), 3, "votes").to_onnx(), np.zeros((0, 3)))
    assert answers["contributions"].shape == (0, 3)


def test_other_estimators_are_refused():
    with pytest.raises(NotExportable, match="SVC cannot be exported; LDEPClassifier"):
        fitted_model(SVC())


def test_without_onnx_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx.helper", None)
    with pytest.raises(ImportError, match=r"install ldep\[onnx\]"):
        classifier(np.random.default_rng(0), 3, "single").to_onnx()


def test_a_program_is_a_json_document():
    program = program_of(classifier(np.random.default_rng(0), 3, "votes").model_, np.array(["a", "b"]))
    content = program.to_json()
    assert json.loads(json.dumps(content, allow_nan=False)) == {**content, "link": dict(content["link"])}
    np.testing.assert_array_equal(content["slopes"], program.slopes)


def test_members_with_other_signs_get_those_of_all():
    """Members with one maximum per class and members with differences, one of them a quarter of its scores."""
    model = mixed_class_votes(0)
    X = np.random.default_rng(0).normal(size=(100, 2))
    check_classes(model, X)
