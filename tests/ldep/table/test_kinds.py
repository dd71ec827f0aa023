"""The decision about the columns of own data: what is chosen, left out or refused, and what params.yaml sets."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from ldep.table import ColumnError, TableEncoder, columns
from ldep.table._kinds import decide
from tests.support.encoders import encoder_for

ROWS = 60


def texts(values: list[str | None]) -> pd.Categorical:
    return pd.Categorical(values)


def table() -> pd.DataFrame:
    generator = np.random.default_rng(0)
    days = pd.Timestamp("2023-01-01") + pd.to_timedelta(generator.integers(0, 400, ROWS), unit="D")
    age = generator.integers(18, 90, ROWS).astype(float)
    age[::10] = np.nan
    return pd.DataFrame(
        {
            "id": texts([f"C{number}" for number in range(ROWS)]),
            "row": np.arange(ROWS, dtype=float),
            "age": age,
            "active": texts(["True", "False"] * (ROWS // 2)),
            "plan": texts(["basic", "gold", None] * (ROWS // 3)),
            "colour": texts(["red", "green", "blue"] * (ROWS // 3)),
            "city": texts([f"city {number % 40}" for number in range(ROWS)]),
            "since": texts(list(days.strftime("%d.%m.%Y"))),
            "price": texts([f"{number % 7}.{number:03d},50" if number % 7 else "5,25" for number in range(ROWS)]),
            "share": texts([f"{number % 9} %" for number in range(ROWS)]),
        }
    )


def test_auto_chooses_by_the_cells():
    chosen = {decision.name: decision for decision in decide(table())}
    kinds = {name: decision.kind for name, decision in chosen.items() if decision.recipe is not None}
    assert kinds == {
        "age": "numeric",
        "active": "boolean",
        "plan": "nominal",
        "colour": "nominal",
        "city": "nominal",
        "since": "date",
        "price": "numeric",
        "share": "numeric",
    }
    assert chosen["id"].drop == "nearly every row has a string of its own (60 strings in 60 rows)"
    assert chosen["row"].drop == "it numbers the rows: whole numbers, all different"


def test_features_are_named_after_their_columns():
    encoder = encoder_for(table()).fit(table())
    assert encoder.get_feature_names_out().tolist() == [
        *("age", "age:missing", "active", "plan=gold", "plan:missing", "colour=blue", "colour=green", "colour=red"),
        *("city:frequency", "since:year", "since:month", "since:weekday", "since:days", "price", "share"),
    ]
    assert encoder.source_columns == [
        *("age", "age", "active", "plan", "plan", "colour", "colour", "colour"),
        *("city", "since", "since", "since", "since", "price", "share"),
    ]
    numbers = pd.DataFrame(encoder.transform(table()), columns=encoder.get_feature_names_out())
    assert numbers["colour=red"].tolist()[:3] == [1.0, 0.0, 0.0]
    assert numbers["plan=gold"].tolist()[:3] == [0.0, 1.0, 0.5]  # a gap takes the mean, and is marked
    assert numbers["plan:missing"].tolist()[:3] == [0.0, 0.0, 1.0]
    assert numbers["city:frequency"].iloc[0] == 2 / ROWS
    assert numbers["price"].tolist()[:3] == [5.25, 1001.5, 2002.5]
    assert numbers["share"].tolist()[:2] == [0.0, 0.01]
    assert np.isfinite(numbers.to_numpy()).all()
    assert encoder.transform(table()).flags.c_contiguous


def test_params_set_the_encoding_of_all_nominal_columns_or_of_single_ones():
    assert "city=city 3" in encoder_for(table(), "one_hot").fit(table()).get_feature_names_out()
    assert "city" in encoder_for(table(), "ordinal").fit(table()).get_feature_names_out()
    wanted = {"id": "frequency", "row": "numeric", "age": "one_hot", "city": "drop", "since": "ordinal"}
    encoder = encoder_for(table(), wanted).fit(table())
    labels = encoder.get_feature_names_out().tolist()
    assert {"id:frequency", "row", "since", "colour=red"} <= set(labels)
    assert any(label.startswith("age=") for label in labels)
    assert "city" not in encoder.columns_


@pytest.mark.parametrize("encode", ["auto", "ordinal", "one_hot", "frequency", {"id": "frequency", "age": "one_hot"}])
@pytest.mark.parametrize("impute", [True, False])
def test_an_encoder_that_was_read_back_gives_the_same_numbers(encode, impute):
    frame = table()
    encoder = encoder_for(frame, encode, impute=impute).fit(frame)
    loaded = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json(), allow_nan=False)))
    np.testing.assert_array_equal(loaded.transform(frame), encoder.transform(frame))
    sent = frame.astype(object).where(frame.notna(), None)
    np.testing.assert_array_equal(loaded.transform(sent), encoder.transform(frame))
    assert loaded.get_params() == encoder.get_params()


def test_cells_with_a_value_that_counts_as_missing_are_known():
    encoder = encoder_for(table()).fit(table())
    row = {**table().iloc[0].to_dict(), "colour": "violet", "since": "yesterday", "plan": None}
    _, report = encoder.read_cells(pd.DataFrame([row], dtype=object))
    assert {name: rows.tolist() for name, rows in report.items()} == {"colour": [0], "since": [0]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 1}, "the encoder is of version 1"),
        ({"strategy": "guess"}, "there is no strategy 'guess'"),
        ({"features": []}, "the features are not those of the columns"),
        ({"columns": [{"name": "a", "kind": "code", "indicator": False}]}, "there is no kind 'code'"),
        (
            {"columns": [{"name": "a", "kind": "date", "form": "x", "parts": ["year"], "indicator": False}]},
            "not a form",
        ),
        (
            {"columns": [{"name": "a", "kind": "nominal", "encoding": "eval", "categories": [], "indicator": False}]},
            "the encoding is 'eval'",
        ),
    ],
)
def test_json_that_was_changed_is_refused(change, message):
    value = encoder_for(table()).fit(table()).to_json() | change
    with pytest.raises(ValueError, match=message):
        TableEncoder.from_json(value)


def many(values: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"x": texts(values)})


@pytest.mark.parametrize(
    ("values", "encode", "message"),
    [
        ([f"{number} kg" for number in range(100)], "auto", "'0 kg' is a number with a unit; store the numbers alone"),
        ([*(f"{number}.5" for number in range(100)), "1O"], "auto", "most of its strings are numbers, but '1O' is not"),
        (["a", "b"] * 20, {"x": "numeric"}, "'a' is not a number"),
        (["a", "b"] * 20, {"x": "date"}, "these are not dates of one form"),
    ],
)
def test_a_column_that_cannot_be_encoded_is_refused_in_words(values, encode, message):
    with pytest.raises(ColumnError, match=message):
        decide(many(values), encode)


def test_few_units_are_categories_with_a_remark():
    (decision,) = decide(many(["1 kg", "2 kg"] * 20))
    assert decision.kind == "nominal"
    assert "numbers with a unit are taken as categories" in decision.remarks[0]


def test_an_ambiguous_comma_is_a_thousands_separator_with_a_remark():
    (decision,) = decide(many(["1,234", "987", "12,500"] * 10))
    assert "the comma in '1,234' is taken for a thousands separator: 1234" in decision.remarks
    assert columns.from_json(decision.recipe).codes(many(["1,234"])["x"]).tolist() == [1234.0]


def test_a_feature_never_has_the_name_of_another():
    frame = pd.DataFrame({"a=x": np.arange(4.0) ** 2, "a": texts(["x", "y", "z", "x"])})
    assert encoder_for(frame).fit(frame).get_feature_names_out().tolist() == ["a=x", "a=x (2)", "a=y", "a=z"]


def test_rare_categories_share_a_feature_where_there_are_many():
    values = [f"city {number % 40}" for number in range(400)] + [f"village {number}" for number in range(50)]
    (decision,) = decide(many(values))
    assert decision.remarks == ("the 50 rarest of its 90 categories share one feature",)
    encoder = encoder_for(many(values)).fit(many(values))
    assert encoder.get_feature_names_out().tolist()[-2:] == ["x=city 9", "x=other"]
    assert len(encoder.get_feature_names_out()) == 41
    rows = encoder.transform(many(["village 3", "city 9"]))
    assert rows.argmax(axis=1).tolist() == [40, 39]
    assert rows.sum(axis=1).tolist() == [1.0, 1.0]
    loaded = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    np.testing.assert_array_equal(loaded.transform(many(values)), encoder.transform(many(values)))


def test_the_features_of_many_wide_columns_are_limited():
    generator = np.random.default_rng(0)
    wide = {f"c{k}": texts([f"v{code}" for code in generator.integers(0, 150, 3000)]) for k in range(10)}
    labels = encoder_for(pd.DataFrame(wide)).fit(pd.DataFrame(wide)).get_feature_names_out()
    assert sum(label.endswith(":frequency") for label in labels) == 4
    assert len(labels) < 1000
