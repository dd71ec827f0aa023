"""A scikit-learn pipeline that ends in an ℓ-DEP is converted as a whole by skl2onnx, and answers as in Python."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ldep import LDEPClassifier, LDEPClassifierCV, StreamingLDEPClassifier
from ldep.estimators import LinearLDEP
from ldep.export import NotExportable, register_skl2onnx
from tests.support import fitted_models

register_skl2onnx()
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-12}


def run(model, **inputs) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs)))


def blobs(classes: int, labels: str, rows: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(rows, 4)) * [1.0, 10.0, 0.1, 1.0]
    number = np.digitize(X[:, 0] + X[:, 3] ** 2, np.quantile(X[:, 0] + X[:, 3] ** 2, np.arange(1, classes) / classes))
    return X, number + 3 if labels == "numbers" else np.array([f"class {k}" for k in range(classes)])[number]


def agree(pipe: Pipeline, X: np.ndarray, dtype: type) -> None:
    """Labels may differ only where the two best classes are as close as the rounding."""
    X = X.astype(dtype)
    doubles = X.astype(np.float64)
    is_raw = pipe[-1].model_.link is None
    options = {id(pipe[-1]): {"zipmap": False, **({"raw_scores": True} if is_raw else {})}}
    found = run(to_onnx(pipe, X[:1], options=options), X=X)
    expected = pipe.decision_function(doubles) if is_raw else pipe.predict_proba(doubles)
    if expected.ndim == 1:
        expected = np.column_stack([-expected, expected])
    assert set(found) == {"label", "probabilities"}
    assert found["probabilities"].dtype == dtype
    np.testing.assert_allclose(found["probabilities"], expected, atol=TOLERANCE[dtype] * max(1, np.abs(expected).max()))
    ordered = np.sort(expected, axis=1)
    sure = ordered[:, -1] - ordered[:, -2] > 2 * TOLERANCE[dtype]
    assert sure.mean() > 0.9
    assert (found["label"] == pipe.predict(doubles))[sure].all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("labels", ["numbers", "text"])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_a_pipeline_with_a_single_model(classes, labels, dtype):
    X, y = blobs(classes, labels)
    model = LDEPClassifier(3, 2, alpha=0.01, random_state=0)
    agree(make_pipeline(StandardScaler(), PCA(3), model).fit(X, y), X, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_pipeline_with_a_vote(classes, dtype):
    X, y = blobs(classes, "text")
    model = LDEPClassifierCV(max_fits=6, random_state=0)
    agree(make_pipeline(StandardScaler(), model).fit(X, y), X, dtype)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: fitted_models.random_model(seed, 5, (4, 3)),
        lambda seed: fitted_models.random_model(seed, 5, (3,) * 5),
        lambda seed: fitted_models.difference_of(seed, 4, 5),
        lambda seed: fitted_models.random_average(seed, n_features=5),
        lambda seed: fitted_models.mixed_class_votes(seed, 2, 5),
        lambda seed: fitted_models.mixed_class_votes(seed, 3, 5),
        lambda seed: fitted_models.random_class_votes(seed, 5, n_features=5),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_random_models(make, seed):
    X = np.random.default_rng(seed).normal(size=(200, 5)) * 3
    agree(Pipeline([("scale", StandardScaler().fit(X)), ("model", make(seed))]), X, np.float64)


def test_the_streaming_and_the_linear_model():
    X, y = blobs(3, "text")
    for model in (StreamingLDEPClassifier(random_state=0).fit(X, y), LinearLDEP(np.eye(3, 4), np.zeros(3), [*"abc"])):
        agree(Pipeline([("model", model.fit(X, y))]), X, np.float64)


def test_a_table_of_numbers_and_categories():
    X, y = blobs(2, "text")
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "colour": np.where(X[:, 2] > 0, "red", "blue")})
    frame.loc[::9, "b"] = np.nan
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer((numbers, ["a", "b"]), (OneHotEncoder(), ["colour"]))
    pipe = make_pipeline(columns, LDEPClassifier(2, 2, random_state=0)).fit(frame, y)
    kinds = [(name, FloatTensorType([None, 1])) for name in ("a", "b")] + [("colour", StringTensorType([None, 1]))]
    model = to_onnx(pipe, initial_types=kinds, options={"zipmap": False})
    inputs = {name: frame[[name]].to_numpy(np.float32 if name != "colour" else object) for name in frame.columns}
    found = run(model, **inputs)
    np.testing.assert_allclose(found["probabilities"], pipe.predict_proba(frame), atol=1e-5)
    assert found["label"].tolist() == pipe.predict(frame).tolist()


def test_the_default_form_of_the_probabilities_is_that_of_skl2onnx():
    X, y = blobs(3, "text")
    pipe = make_pipeline(StandardScaler(), LDEPClassifier(2, 2, random_state=0)).fit(X, y)
    X = X.astype(np.float32)
    found = run(to_onnx(pipe, X[:1]), X=X)
    assert set(found) == {"output_label", "output_probability"}
    shares = pd.DataFrame(found["output_probability"])[pipe.classes_].to_numpy()
    np.testing.assert_allclose(shares, pipe.predict_proba(X), atol=1e-5)


def test_a_vote_of_different_estimators_has_each_of_its_models():
    X, y = blobs(2, "numbers")
    members = [("first", LDEPClassifier(2, 2, random_state=0)), ("second", LDEPClassifier(3, 1, random_state=1))]
    vote = VotingClassifier(members, voting="soft", flatten_transform=False).fit(X, y)
    found = run(to_onnx(vote, X[:1].astype(np.float32), options={"zipmap": False}), X=X.astype(np.float32))
    np.testing.assert_allclose(found["probabilities"], vote.predict_proba(X), atol=1e-5)


def test_what_has_no_form_is_named():
    X, y = blobs(2, "text")
    X[::5, 1] = np.nan
    gaps = make_pipeline(StandardScaler(), LDEPClassifier(2, 2, random_state=0)).fit(X, y)
    with pytest.raises(NotExportable, match="trained on rows with missing values has no exported form"):
        to_onnx(gaps, np.zeros((1, 4)))
    X = np.nan_to_num(X)
    numbers = make_pipeline(LDEPClassifier(2, 2, random_state=0)).fit(X, (y == y[0]).astype(float))
    with pytest.raises(NotExportable, match=r"no classes such as 0\.0\. Name the classes of y by whole numbers or"):
        to_onnx(numbers, np.zeros((1, 4)))
    hinge = make_pipeline(LDEPClassifier(2, 2, loss="hinge", alpha=0.1, random_state=0)).fit(X, y)
    with pytest.raises(NotExportable, match=r"This LDEPClassifier has no probabilities\. Convert it with its decision"):
        to_onnx(hinge, np.zeros((1, 4)))
