"""ONNX and C answer raw rows, with gaps and unusual spellings, as the served model does: the same class, numbers to
1e-12, and the contributions too."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.export import NotExportable, identifiers, to_c, to_onnx
from ldep.export._c import quoted
from ldep.table import TableEncoder
from ldep_pipeline.serving import calibration
from ldep_pipeline.serving.portable import program
from ldep_pipeline.serving.served_model import ServedModel
from tests.support import c_program, random_models
from tests.support.encoders import encoder_for

SHAPES = [(4, 3), (3, 0), (0, 2)]
needs_compiler = pytest.mark.skipif(
    c_program.compiler() is None, reason="gcc is missing; .ci/run installs it if it may"
)


def expected(served: ServedModel, frame: pd.DataFrame) -> dict[str, np.ndarray]:
    X = served.numbers(frame)
    positive, decision = served.score(X)
    explanation = served.explain(X)
    return {
        "class": positive.astype(int),
        "decision": decision,
        "probability": served.probability(X, decision)[:, 1],
        "bias": explanation.bias,
        "contributions": explanation.contributions,
    }


def onnx_session(served: ServedModel) -> onnxruntime.InferenceSession:
    content = to_onnx(program(served)).SerializeToString()
    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])


def onnx_inputs(
    session: onnxruntime.InferenceSession, frame: pd.DataFrame, served: ServedModel
) -> dict[str, np.ndarray]:
    columns = session.get_modelmeta().custom_metadata_map
    frame = frame.assign(**{name: served.encoder.read_cells(frame)[0][name] for name in json.loads(columns["dates"])})
    types = {"tensor(double)": np.float64, "tensor(string)": object}
    return {
        part.name: frame[json.loads(columns[part.name])].to_numpy(types[part.type]) for part in session.get_inputs()
    }


def check_equal(answers: dict[str, np.ndarray], exact: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(answers["class"], exact["class"])
    for name in ("decision", "probability", "bias", "contributions"):
        np.testing.assert_allclose(answers[name], exact[name], rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("kind", ["single", "votes", "refit"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_onnx_answers_raw_rows(kind, shape):
    rng = np.random.default_rng(0)
    served = random_models.served(rng, kind, *shape)
    frame = random_models.rows(rng, 300, *shape)
    session = onnx_session(served)
    names = [output.name for output in session.get_outputs()]
    answers = dict(zip(names, session.run(None, onnx_inputs(session, frame, served))))
    assert set(answers["label"]) <= set(served.classes)
    answers |= {"class": np.array([served.classes.index(label) for label in answers["label"]])}
    check_equal(answers | {"probability": answers["probabilities"][:, 1]}, expected(served, frame))


ENCODINGS = ["auto", "ordinal", "one_hot", "frequency", {"1 colour": "frequency", "2 größe (cm)": "one_hot"}]


@pytest.mark.parametrize("seed", range(len(ENCODINGS)))
def test_onnx_and_c_follow_any_encoder(seed, tmp_path):
    rng = np.random.default_rng(seed)
    served = random_models.served(rng, ["single", "votes", "refit"][seed % 3], 3, 3, 5, ENCODINGS[seed])
    frame = random_models.rows(rng, 300, 3, 3, 5)
    model = program(served)
    exact = expected(served, frame)
    assert exact["contributions"].shape[1] == len(model.columns) < len(model.features)
    session = onnx_session(served)
    names = [output.name for output in session.get_outputs()]
    answers = dict(zip(names, session.run(None, onnx_inputs(session, frame, served))))
    answers |= {"class": np.array([served.classes.index(label) for label in answers["label"]])}
    check_equal(answers | {"probability": answers["probabilities"][:, 1]}, exact)
    if c_program.compiler() is not None:
        check_equal(c_program.answers(c_program.build(model, tmp_path), model, frame), exact)


@needs_compiler
@pytest.mark.parametrize(
    ("kind", "shape"), [("votes", SHAPES[0]), ("single", SHAPES[1]), ("refit", SHAPES[2])], ids=str
)
def test_c_answers_raw_rows(kind, shape, tmp_path):
    rng = np.random.default_rng(1)
    served = random_models.served(rng, kind, *shape)
    frame = random_models.rows(rng, 300, *shape)
    model = program(served)
    check_equal(c_program.answers(c_program.build(model, tmp_path), model, frame), expected(served, frame))


@pytest.mark.parametrize("encode", [None, "auto"])
@pytest.mark.parametrize(
    "estimator",
    [
        LDEPClassifier(2, 2, random_state=0),
        LDEPClassifier(2, 2, loss="hinge", random_state=0),
        LDEPClassifier(2, 2, loss="hinge", probability=True, random_state=0),
        LDEPClassifierCV(pieces=[(2, 2)], alphas=[0.1, 1.0], penalties=["norm"], random_state=0),
        LDEPClassifierCV(pieces=[(2, 2)], alphas=[0.1], penalties=["norm"], ensemble=False, random_state=0),
    ],
    ids=["single", "hinge", "probability", "votes", "refit"],
)
def test_onnx_and_c_answer_raw_rows_of_several_classes(estimator, encode, tmp_path):
    rng = np.random.default_rng(3)
    train = random_models.rows(rng, 90, 3, 2)
    nominal = [name for name in train.columns if "colour" in name]
    for name in nominal:
        train[name] = pd.Categorical(rng.choice(random_models.CATEGORIES, size=90))
    y = np.array(["a", "b", "c"])[np.arange(90) % 3]
    steps = [("encode", encoder_for(train, encode)), ("scale", StandardScaler()), ("model", clone(estimator))]
    served = ServedModel(Pipeline(steps).fit(train, y), calibration.Calibration(1.3, (0.2, -0.3, 0.1)))
    frame = random_models.rows(rng, 200, 3, 2)
    session = onnxruntime.InferenceSession(
        to_onnx(program(served)).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    answers = dict(zip(names, session.run(None, onnx_inputs(session, frame, served))))
    X = served.numbers(frame)
    numbers, decision = served.score(X)
    explanation = served.explain(X)
    assert answers["label"].tolist() == [served.classes[number] for number in numbers]
    np.testing.assert_allclose(answers["decision"], decision, rtol=0, atol=1e-11)
    np.testing.assert_allclose(answers["probabilities"], served.probability(X, decision), rtol=0, atol=1e-11)
    np.testing.assert_allclose(answers["contributions"], explanation.contributions, rtol=0, atol=1e-11)
    np.testing.assert_allclose(answers["bias"], explanation.bias, rtol=0, atol=1e-11)
    if c_program.compiler() is None:
        return
    model = program(served)
    written = c_program.answers(c_program.build(model, tmp_path), model, frame)
    np.testing.assert_array_equal(written["class"], numbers)
    np.testing.assert_array_equal(np.array(served.classes)[written["rival"].astype(int)], explanation.rival)
    np.testing.assert_allclose(written["decision"], decision, rtol=0, atol=1e-11)
    np.testing.assert_allclose(written["probability"], served.probability(X, decision), rtol=0, atol=1e-11)
    np.testing.assert_allclose(written["contributions"], explanation.contributions, rtol=0, atol=1e-11)
    np.testing.assert_allclose(written["bias"], explanation.bias, rtol=0, atol=1e-11)


@needs_compiler
def test_c_refuses_numbers_out_of_range(tmp_path):
    rng = np.random.default_rng(2)
    model = program(random_models.served(rng, "single", 1, 1))
    built = c_program.build(model, tmp_path)
    frame = pd.DataFrame([["1e200", "red"], ["inf", "red"], ["text", "red"], ["1", "red"]])
    frame.columns = pd.Index([column.name for column in model.columns])
    answers = c_program.answers(built, model, frame)
    assert answers["class"][:3].tolist() == [-1, -1, -1]
    assert np.isnan(answers["decision"]).tolist() == [True, True, True, False]


def test_an_imputer_of_each_fold_is_exported():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [np.nan] * 3})
    encoder = TableEncoder(None, impute=False, scale=False).fit(frame)
    imputer = SimpleImputer(keep_empty_features=True).fit(encoder.transform(frame))
    scaler = StandardScaler().fit(imputer.transform(encoder.transform(frame)))
    model = random_models.classifier(np.random.default_rng(0), 2, "single")
    pipe = Pipeline([("encode", encoder), ("impute", imputer), ("scale", scaler), ("model", model)])
    assert program(ServedModel(pipe, None)).of_features("fill").tolist() == [2.0, 0.0]


def test_an_unknown_step_is_refused():
    served = random_models.served(np.random.default_rng(0), "single", 2, 0)
    X = np.zeros((2, len(served.columns)))
    pipe = Pipeline([served.pipe.steps[0], ("minmax", MinMaxScaler().fit(X)), served.pipe.steps[-1]])
    with pytest.raises(NotExportable, match=r"The step 'minmax' of the pipeline \(MinMaxScaler\) cannot be exported"):
        program(ServedModel(pipe, None))


def test_identifiers_of_columns_are_unique_in_c():
    names = ["a b", "a-b", "A_B", "größe", "columns", "???", "1"]
    assert list(identifiers(names).values()) == ["a_b", "a_b_2", "A_B_3", "gr_e", "columns_2", "column", "1"]


def test_texts_of_any_kind_are_c_literals():
    assert quoted('a"b\\?\né') == r'"a\042b\134\077\012\303\251"'


def test_a_model_without_probability_has_no_such_function():
    served = random_models.served(np.random.default_rng(0), "single", 2, 0)
    model = program(served)
    assert "ldep_probabilities" not in to_c(replace(model, link=None), "without")
