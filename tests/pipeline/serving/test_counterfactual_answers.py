"""The nearest change of raw rows: sent back, the changed row has the other class, and no allowed one is nearer."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.table import TableEncoder
from ldep_pipeline.server.request_format import read_json
from ldep_pipeline.serving.calibration import Calibration
from ldep_pipeline.serving.served_model import ServedModel
from tests.support import random_models, registered
from tests.support.encoders import encoder_for

NUMBER, NOMINAL = "größe (cm)", ["grade", "colour"]


def shop(classifier, encode: str | None = None) -> tuple[ServedModel, pd.DataFrame]:
    frame = registered.rows(150).astype(dict.fromkeys(NOMINAL, "category"))
    X, y = frame.drop(columns="sold"), frame["sold"]
    steps = [("encode", encoder_for(X, encode)), ("scale", StandardScaler()), ("model", classifier)]
    return ServedModel(Pipeline(steps).fit(X, y), None), X


@pytest.fixture(scope="module")
def single():
    return shop(LDEPClassifier(4, 4, alpha=0.1, random_state=0))


@pytest.fixture(scope="module")
def one_hot():
    return shop(LDEPClassifier(4, 4, alpha=0.1, random_state=0), "auto")


@pytest.fixture(scope="module")
def votes():
    return shop(LDEPClassifierCV(max_fits=5, random_state=0))


def ask(served: ServedModel, rows: pd.DataFrame, **params) -> list[dict]:
    return json.loads(json.dumps(served.predict(rows, {"output": "counterfactual", "seconds": 30, **params})))


def changed(row: pd.Series, answer: dict) -> pd.DataFrame:
    """The row as a client sends it after the changes."""
    cells = row.astype(object)
    for column, change in answer["counterfactual"]["changes"].items():
        cells[column] = change["to"]
    return pd.DataFrame([cells])


@pytest.mark.parametrize("kind", ["single", "one_hot", "votes"])
@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
def test_the_changed_row_has_the_other_class_and_choices_stay_choices(kind, norm, request):
    served, frame = request.getfixturevalue(kind)
    rows = frame.iloc[: 2 if kind == "votes" else 8]
    answers = ask(served, rows, norm=norm, integer=[NUMBER], seconds=30 if kind != "votes" else 2)
    found = 0
    for (_, row), answer in zip(rows.iterrows(), answers, strict=True):
        near = answer["counterfactual"]
        if "changes" not in near:
            continue
        found += 1
        assert served.predict(changed(row, answer)) == [near["class"]] != [answer["class"]]
        assert near["bound"] <= near["distance"]
        for column, change in near["changes"].items():
            assert change["from"] != change["to"]
            if column in NOMINAL:
                assert change["to"] in frame[column].cat.categories
        if NUMBER in near["changes"]:
            assert near["changes"][NUMBER]["to"] % 1 == 0
    assert found == len(rows)


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_no_choice_of_categories_gives_a_nearer_row(seed, norm):
    """Every combination of two nominal columns is tried, each with the nominal columns frozen."""
    rng = np.random.default_rng(seed)
    served = random_models.served(rng, "single", 2, 2)
    row = random_models.rows(rng, 1, 2, 2)
    nominal = [name for name in row.columns if "colour" in name]
    row[nominal] = [["red", "1"]]
    (answer,) = ask(served, row, norm=norm)
    best = np.inf
    for pair in itertools.product(["red", *random_models.CATEGORIES[1:]], random_models.CATEGORIES):
        other = row.copy()
        other[nominal] = [pair]
        switched = sum(a != b for a, b in zip(pair, ("red", "1")))
        if served.predict(other) != served.predict(row):
            numeric = 0.0
        else:
            (part,) = ask(served, other, norm=norm, frozen=nominal)
            numeric = part["counterfactual"].get("distance", np.inf)
        total = numeric + switched if norm == "l1" else np.hypot(numeric, np.sqrt(switched))
        best = min(best, total)
    distance = answer["counterfactual"].get("distance", np.inf)
    assert distance == pytest.approx(best, rel=1e-5)


def test_the_threshold_of_the_answers_counts(single):
    served, frame = single
    strict = ServedModel(served.pipe, None, threshold=0.5)
    rows = frame.iloc[:6]
    for (_, row), answer in zip(rows.iterrows(), ask(strict, rows), strict=True):
        near = answer["counterfactual"]
        assert near["proven"]
        assert strict.predict(changed(row, answer)) == [near["class"]] != [answer["class"]]


def test_a_date_and_a_gap_with_an_indicator_stay():
    days = [f"2024-01-{day + 1:02d}" for day in range(30)]
    numbers = np.where(np.arange(30) % 3 == 0, np.nan, np.arange(30.0))
    frame = pd.DataFrame({"a": numbers, "b": np.arange(30.0) % 7, "day": pd.Categorical(days)})
    encoder = encoder_for(frame, {"day": "date"}).fit(frame)
    X = encoder.transform(frame)
    model = random_models.classifier(np.random.default_rng(1), X.shape[1], "single")
    served = ServedModel(Pipeline([("e", encoder), ("s", StandardScaler().fit(X)), ("m", model)]), None)
    answers = ask(served, frame.iloc[[0, 1]], beyond=["b"])
    first, second = (set(answer["counterfactual"]["changes"]) for answer in answers)
    assert first == {"b"}
    assert set() < second <= {"a", "b"}


@pytest.mark.parametrize("ensemble", [False, True])
def test_more_than_two_classes(ensemble):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120)})
    y = np.array(["low", "middle", "high"])[np.digitize(frame["a"] + frame["b"] ** 2, [0.3, 1.5])]
    model = LDEPClassifierCV(pieces=[(2, 2)], alphas=[0.1], penalties=["norm"], ensemble=ensemble, random_state=0)
    pipe = make_pipeline(TableEncoder(None), model).fit(frame, y)
    served = ServedModel(pipe, None)
    for (_, row), answer in zip(frame.iloc[:5].iterrows(), ask(served, frame.iloc[:5]), strict=True):
        near = answer["counterfactual"]
        assert near["proven"]
        assert served.predict(changed(row, answer)) == [near["class"]] != [answer["class"]]


def test_frozen_columns_do_not_change(single):
    served, frame = single
    answers = ask(served, frame.iloc[:20], frozen=["width", "colour"])
    changes = [answer["counterfactual"].get("changes", {}) for answer in answers]
    assert any(changes)
    assert {column for change in changes for column in change} <= {NUMBER, "grade"}


def test_a_missing_cell_that_changes_comes_from_null_and_a_missing_whole_number_stays(single):
    served, frame = single
    rows = frame.iloc[[17]].assign(colour="red").astype({NUMBER: object})
    (answer,) = ask(served, rows, frozen=[NUMBER, "grade", "colour"])
    assert answer["counterfactual"]["changes"]["width"]["from"] is None
    rows[NUMBER] = None
    (answer,) = ask(served, rows, integer=[NUMBER])
    assert NUMBER not in answer["counterfactual"]["changes"]


def test_an_impossible_question_about_a_row_is_answered_in_words(single):
    served, frame = single
    answers = ask(served, frame.iloc[:40], frozen=["width", NUMBER, "colour"])
    reasons = {answer["counterfactual"].get("not_available", "")[:40] for answer in answers}
    assert "No allowed change gives the row another " in reasons


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"frozen": "width"}, "params.frozen must be a list of columns"),
        ({"frozen": ["height"]}, "params.frozen names 'height', which is not a column of the model."),
        ({"frozen": ["width", NUMBER, *NOMINAL]}, "names every column"),
        ({"integer": ["colour"]}, "params.integer names 'colour', which is a nominal column."),
        ({"norm": "l3"}, "params.norm is 'l3'; it must be one of l2, l1, linf."),
        ({"seconds": 0}, "params.seconds must be a number above 0 and at most 60."),
        ({"seconds": "10"}, "params.seconds is '10'; it must be a number"),
        ({"up": ["grade"]}, "params.directions names 'grade', which is a nominal column."),
        ({"up": ["width"], "down": ["width"]}, "params.up and params.down both name 'width'"),
        ({"constraints": ["width <= hight"]}, "names 'hight', which is not a column"),
        ({"constraints": ["width < 3"]}, "'<=' is meant"),
        ({"constraints": ["colour <= 3"]}, "names 'colour', which is a nominal column, not a number."),
        ({"constraints": ["width <= 0.5", "width >= 1"]}, "contradict each other"),
        ({"costs": ["width"]}, "write a column and a number"),
        ({"max_changes": 1.5}, "must be a whole number"),
        ({"answers": float("inf")}, "params.answers is inf; it must be a whole number."),
        ({"menu": float("nan")}, "params.menu is nan; it must be a whole number."),
        ({"margin": 10**400}, "params.margin is 1000"),
        ({"answers": 0}, "params.answers must be a whole number from 1 to 20"),
        ({"target": "perhaps"}, "params.target 'perhaps' is not one of the classes"),
        ({"probability": 1.5}, "must be above 0 and below 1"),
        ({"box": 1}, "params.box is 1; it must be true or false."),
    ],
)
def test_a_wrong_parameter_is_named(single, params, message):
    served, frame = single
    with pytest.raises(ValueError, match=message):
        served.predict(frame.iloc[:1], {"output": "counterfactual", **params})


def test_the_parameters_of_recourse_hold(single):
    served, frame = single
    params = {"up": ["width"], "max_changes": 1, "costs": ["grade: 3"], "answers": 3, "box": True}
    answers = ask(served, frame.iloc[:15], constraints=["width <= 100"], **params)
    further = 0
    for (_, row), answer in zip(frame.iloc[:15].iterrows(), answers, strict=True):
        near = answer["counterfactual"]
        sets = []
        for one in [near, *near.get("further", [])]:
            if "changes" not in one:
                assert one["proven"]
                continue
            assert one["proven"]
            (column,) = one["changes"]
            change = one["changes"][column]
            assert served.predict(changed(row, {"counterfactual": one})) == [one["class"]]
            if column == "width" and change["from"] is not None:
                assert change["to"] >= change["from"]
            for end in change.get("range", []):
                other = {"counterfactual": {"changes": {column: {"to": end}}}}
                assert served.predict(changed(row, other)) != [answer["class"]]
            sets.append(column)
        assert len(set(sets)) == len(sets)
        further += len(sets) > 1
    assert further


def test_numbers_stay_within_the_range_and_on_the_grid_of_the_training_rows(single):
    served, frame = single
    known = served.encoder.ranges_
    answers = ask(served, frame[frame["width"].notna()].iloc[:40])
    moved = 0
    for answer in answers:
        for column, change in answer["counterfactual"].get("changes", {}).items():
            if column in known:
                moved += 1
                one = known[column]
                assert one.least <= change["to"] <= one.largest
                steps = (change["to"] - one.least) / one.step if one.step else 0.0
                assert steps == pytest.approx(round(steps), abs=1e-5)
    assert moved


def test_a_menu_names_the_columns(single):
    served, frame = single
    (answer,) = ask(served, frame.iloc[[0]], menu=2)
    menu = answer["counterfactual"]["menu"]
    sets = {frozenset(option["columns"]) for option in menu}
    assert sets >= {frozenset(["width"]), frozenset(["grade"]), frozenset(["width", "grade"])}
    for option in menu:
        assert option["proven"]
        if option["possible"]:
            assert set(option["changes"]) <= set(option["columns"])
            assert served.predict(changed(frame.iloc[0], {"counterfactual": option})) == [option["class"]]


def test_a_probability_is_that_of_the_answer():
    served, frame = shop(LDEPClassifier(4, 4, alpha=0.1, random_state=0))
    model, rows = ServedModel(served.pipe, Calibration(1.7, (-0.3,))), frame.iloc[:5]
    found = 0
    for (_, row), answer in zip(rows.iterrows(), ask(model, rows, probability=0.7), strict=True):
        near = answer["counterfactual"]
        assert near["proven"]
        if "changes" in near:
            found += 1
            (record,) = model.predict(changed(row, answer), {"output": "scores"})
            assert record["class"] == near["class"]
            assert record["probability"][near["class"]] >= 0.7
    assert found


def test_at_most_a_hundred_rows_are_answered(single):
    served, frame = single
    with pytest.raises(ValueError, match="has 150 rows; the output 'counterfactual' takes at most 100"):
        served.predict(frame, {"output": "counterfactual"})


def test_the_time_limit_holds_for_all_rows_together(votes):
    served, frame = votes
    answers = ask(served, frame.iloc[:20], seconds=0.2)
    assert len(answers) == 20
    assert not all(answer["counterfactual"].get("proven") for answer in answers)


def test_a_model_without_exact_counterfactuals_says_so():
    served, frame = shop(SVC())
    (answer,) = ask(served, frame.iloc[:1])
    assert answer["counterfactual"] == {"not_available": "SVC has no exact counterfactuals."}


def test_the_request_takes_the_parameters_of_counterfactuals():
    params = {"output": "counterfactual", "frozen": ["a"], "norm": "l1", "seconds": 1, "integer": []}
    assert read_json(json.dumps({"inputs": {"a": 1}, "params": params}), ["a"])[1] == params
