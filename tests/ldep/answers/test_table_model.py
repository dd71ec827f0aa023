"""A pipeline of an encoder and an ℓ-DEP answers in the columns and units of the raw table."""

from __future__ import annotations

import json

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.answers import TableModel
from ldep.export import NotExportable
from ldep.table import TableEncoder, cells, dates
from tests.support import raw_table

pytestmark = pytest.mark.filterwarnings("ignore:Left out")
MODELS = {
    "single": lambda: LDEPClassifier(2, 2, alpha=0.01, random_state=0),
    "vote": lambda: LDEPClassifierCV(max_fits=6, random_state=0),
}
KINDS = [("single", 2), ("single", 3), ("vote", 2), ("vote", 3)]


@pytest.fixture(scope="module", params=KINDS, ids=str)
def fitted(request) -> tuple[Pipeline, pd.DataFrame]:
    kind, classes = request.param
    frame, y = raw_table.shop(classes=classes)
    return make_pipeline(TableEncoder(), MODELS[kind]()).fit(frame, y), frame


def test_contributions_of_the_columns_sum_to_the_decision_value(fitted):
    pipe, frame = fitted
    model = TableModel(pipe)
    rows = frame.iloc[:20]
    explanation = model.explain(rows)
    table = explanation.to_frame()
    assert list(table.columns[:7]) == model.columns == [*frame.columns[1:]]
    np.testing.assert_allclose(table[model.columns].sum(axis=1) + table["bias"], table["decision"], atol=1e-9)
    decision = pipe.decision_function(rows)
    lead = decision if decision.ndim == 1 else -np.diff(np.sort(decision, axis=1)[:, -1:-3:-1], axis=1)[:, 0]
    np.testing.assert_allclose(explanation.decision, lead, atol=1e-9)


def test_a_changed_row_has_its_class_when_it_is_sent_back(fitted):
    pipe, frame = fitted
    found = TableModel(pipe).counterfactual(frame.iloc[:5], integer=["age"], frozen=["income"], time_limit=2)
    assert len(found) == 5
    has_answer = [answer.reason is None for answer in found.answers]
    assert sum(has_answer) >= 4
    targets = [answer.target for answer in found.answers if answer.reason is None]
    assert pipe.predict(found.rows).tolist() == targets
    for answer in found.answers:
        assert answer.target != answer.before
        assert answer.bound <= answer.distance
        assert not {"income", "since"} & set(answer.changes)
        if "age" in answer.changes:
            assert answer.changes["age"].after % 1 == 0
    assert "row 0: " in str(found)
    assert str(found[0]) in str(found)


def test_the_certified_radius_is_that_of_the_nearest_row(fitted):
    pipe, frame = fitted
    model, rows = TableModel(pipe), frame.iloc[:2]
    radius = model.certificate(rows, time_limit=1)
    for bound, answer in zip(radius, model.counterfactual(rows, time_limit=1).answers):
        assert 0 <= bound <= answer.distance


def test_rules_decide_as_predict_does_in_the_units_of_the_table():
    for classes in (2, 3):
        frame, y = raw_table.shop(classes=classes)
        pipe = make_pipeline(TableEncoder(), MODELS["single"]()).fit(frame, y)
        for rows in (None, frame):
            sheet = TableModel(pipe).rules(rows)
            assert (sheet.predict(pipe[0].read(frame)[0]) == pipe.predict(frame)).mean() == 1
            assert "age" in str(sheet)
    with pytest.raises(TypeError, match="LDEPClassifierCV votes, and a vote has no rules"):
        TableModel(make_pipeline(TableEncoder(), MODELS["vote"]()).fit(frame, y)).rules()


def test_onnx_answers_raw_cells_as_python_does(fitted):
    pipe, frame = fitted
    onnx = TableModel(pipe).to_onnx()
    session = onnxruntime.InferenceSession(onnx.SerializeToString())
    columns = {entry.key: json.loads(entry.value) for entry in onnx.metadata_props}
    rows = frame.iloc[:40]
    numbers = [read_numbers(pipe[0], rows[name.removesuffix(" (0.5 is 50 %)")]) for name in columns["numbers"]]
    texts = rows[columns["texts"]].astype(object).map(lambda cell: "" if cells.read(cell) is None else str(cell))
    moments = [[dates.read(cell, "YYYY-MM-DD") for cell in rows[name]] for name in columns["dates"]]
    inputs = {"numbers": np.column_stack(numbers), "texts": texts.to_numpy(object), "dates": np.array(moments).T}
    label, probabilities = session.run(["label", "probabilities"], inputs)
    assert label.tolist() == pipe.predict(rows).tolist()
    np.testing.assert_allclose(probabilities, pipe.predict_proba(rows), atol=1e-12)


def read_numbers(encoder: TableEncoder, column: pd.Series) -> np.ndarray:
    (fitted,) = [one for one in encoder.fitted_ if one.name == column.name]
    return fitted.codes(column)


def test_c_has_the_columns_of_the_table(fitted):
    pipe, _ = fitted
    text = TableModel(pipe).to_c("shop")
    assert all(f"LDEP_{name.upper()}" in text for name in ("AGE", "CONTRACT", "SINCE", "SCORE"))


def test_a_scaler_of_its_own_gives_the_same_answers():
    frame, y = raw_table.shop()
    inside = make_pipeline(TableEncoder(), MODELS["single"]()).fit(frame, y)
    outside = make_pipeline(TableEncoder(scale=False), StandardScaler(), MODELS["single"]()).fit(frame, y)
    twice = make_pipeline(TableEncoder(), StandardScaler(), MODELS["single"]()).fit(frame, y)
    first = TableModel(inside).counterfactual(frame.iloc[:3]).answers
    for pipe, tolerance in ((outside, 1e-12), (twice, 1e-6)):
        for one, other in zip(first, TableModel(pipe).counterfactual(frame.iloc[:3]).answers, strict=True):
            assert (one.before, one.target) == (other.before, other.target)
            assert one.distance == pytest.approx(other.distance, rel=max(tolerance, 1e-9))


def test_the_threshold_moves_every_answer():
    frame, y = raw_table.shop()
    pipe = make_pipeline(TableEncoder(), MODELS["single"]()).fit(frame, y)
    strict, rows = TableModel(pipe, threshold=0.5), frame.iloc[:3]
    np.testing.assert_allclose(strict.explain(rows).decision, pipe.decision_function(rows) - 0.5, atol=1e-9)
    positive = pipe.decision_function(frame) >= 0.5
    assert (strict.rules().predict(pipe[0].read(frame)[0]) == pipe.classes_[positive.astype(int)]).all()


def test_what_is_no_such_pipeline_is_named():
    frame, y = raw_table.shop()
    with pytest.raises(TypeError, match="ends with SVC; it must be an ℓ-DEP"):
        TableModel(make_pipeline(TableEncoder(), SVC()).fit(frame, y))
    numbers = frame[["age"]]
    with pytest.raises(TypeError, match="begins with StandardScaler; it must be a TableEncoder"):
        TableModel(make_pipeline(StandardScaler(), LDEPClassifier()).fit(numbers, y))
    other = TableModel(make_pipeline(TableEncoder(), MinMaxScaler(), MODELS["single"]()).fit(frame, y))
    assert other.explain(frame.iloc[:2]).contributions.shape == (2, 7)
    with pytest.raises(NotExportable, match=r"The step 'minmaxscaler' of the pipeline \(MinMaxScaler\)"):
        other.to_onnx()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"frozen": ["id"]}, "frozen names 'id', which is not a column of the model"),
        ({"integer": ["since"]}, "integer names 'since', which is a date column"),
        ({"norm": "l3"}, "norm is 'l3'; it must be one of l2, l1, linf"),
        ({"time_limit": 0}, "time_limit=0 must be positive"),
    ],
)
def test_bad_limits_are_named(asked, message):
    frame, y = raw_table.shop()
    model = TableModel(make_pipeline(TableEncoder(), MODELS["single"]()).fit(frame, y))
    with pytest.raises(ValueError, match=message):
        model.counterfactual(frame.iloc[:1], **asked)
