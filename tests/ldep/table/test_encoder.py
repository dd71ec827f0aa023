"""The encoder gives the same numbers in training and in serving, and its JSON holds all of it."""

from __future__ import annotations

import datetime
import doctest
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ldep.table import TableEncoder, columns, dates

FRAME = pd.DataFrame(
    {
        "size": [1.0, None, 3.0, 8.0],
        "colour": pd.Categorical(["red", "blue", None, "red"], categories=["red", "green", "blue"]),
        "level": pd.Categorical(["1", "2", "2", "3"], categories=["3", "2", "1"]),
        "empty": [np.nan] * 4,
    }
)


def test_codes_follow_the_declared_order_and_missing_cells_take_the_mean():
    numbers = TableEncoder(None, scale=False).fit_transform(FRAME)
    expected = [[1, 0, 2], [4, 2, 1], [3, 2 / 3, 1], [8, 0, 0]]
    np.testing.assert_allclose(numbers, expected, rtol=1e-15)


def test_an_empty_column_is_dropped_as_simple_imputer_does():
    encoder = TableEncoder(None, scale=False).fit(FRAME)
    assert encoder.get_feature_names_out().tolist() == ["size", "colour", "level"]


def test_values_that_training_does_not_know_are_reported_by_column():
    rows = FRAME.astype(object).assign(colour=["red", "violet", None, "?"], level=["4", "1", "", "5"])
    encoder = TableEncoder(None, scale=False).fit(FRAME)
    numbers, report = encoder.read(rows)
    np.testing.assert_array_equal(numbers, encoder.transform(rows))
    assert {name: unknown.tolist() for name, unknown in report.items()} == {"colour": [1], "level": [0, 3]}


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
def test_the_filled_numbers_are_simple_imputers(strategy):
    codes = TableEncoder(None, impute=False, scale=False).fit_transform(FRAME)[:, :3]
    fill = {"fill_value": -1.0} if strategy == "constant" else {}
    wanted = SimpleImputer(strategy=strategy, **fill).fit_transform(codes)
    np.testing.assert_array_equal(TableEncoder(None, strategy, -1.0, scale=False).fit_transform(FRAME), wanted)


def test_without_imputing_missing_cells_and_columns_stay():
    numbers = TableEncoder(None, impute=False, scale=False).fit_transform(FRAME)
    assert numbers.shape == (4, 4)
    assert np.isnan(numbers).sum() == 6


def test_served_rows_may_be_strings_numbers_or_missing():
    encoder = TableEncoder(None, scale=False).fit(FRAME)
    rows = pd.DataFrame(
        [
            {"size": "2.5", "colour": "green", "level": 1, "empty": None, "more": "x"},
            {"size": None, "colour": None, "level": 3.0, "empty": "?", "more": "x"},
            {"size": "?", "colour": "violet", "level": "1", "empty": 5, "more": "x"},  # violet was never declared
            {"size": "", "colour": float("nan"), "level": "9", "empty": 5, "more": "x"},
        ]
    )
    np.testing.assert_allclose(encoder.transform(rows), [[2.5, 1, 2], [4, 2 / 3, 0], [4, 2 / 3, 2], [4, 2 / 3, 1]])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"size": "big", "colour": "red", "level": "1", "empty": 1}, "row 0, column 'size': 'big' is not a number"),
        ({"size": [1], "colour": "red", "level": "1", "empty": 1}, "row 0, column 'size'"),
        ({"size": "inf", "colour": "red", "level": "1", "empty": 1}, "row 0, column 'size': the number is infinite"),
        ({"size": 1, "level": "1", "empty": 1}, "no column 'colour'"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named(row, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder(None, scale=False).fit(FRAME).transform(pd.DataFrame([row]))


def test_the_example_of_the_docstring_runs():
    """pytest does not find it by itself: the class is imported when it is asked for."""
    runner = doctest.DocTestRunner()
    (example,) = [
        test for test in doctest.DocTestFinder().find(TableEncoder, "TableEncoder", globs={}) if test.examples
    ]
    assert runner.run(example).attempted > 3
    assert runner.failures == 0


def test_json_holds_everything():
    encoder = TableEncoder(None, "median", scale=False).fit(FRAME)
    text = json.dumps(encoder.to_json(), allow_nan=False)
    loaded = TableEncoder.from_json(json.loads(text))
    np.testing.assert_array_equal(loaded.transform(FRAME), encoder.transform(FRAME))
    assert loaded.get_params() == encoder.get_params()


def test_it_is_a_transformer_like_others():
    y = ["a", "b", "a", "b"]
    model = make_pipeline(TableEncoder(None, scale=False), StandardScaler(), SVC()).fit(FRAME, y)
    assert len(model.predict(FRAME.astype(object))) == 4
    assert clone(model[0]).get_params() == TableEncoder(None, scale=False).get_params()


def test_fitting_leaves_the_frame_alone():
    before = FRAME.copy(deep=True)
    TableEncoder(None, scale=False).fit_transform(FRAME)
    pd.testing.assert_frame_equal(FRAME, before)


numbers = st.one_of(st.none(), st.floats(-1e6, 1e6, allow_subnormal=False))
letters = st.one_of(st.none(), st.sampled_from("abc"))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(numbers, letters), min_size=1, max_size=20))
def test_served_cells_give_the_numbers_of_training(rows):
    """Whatever the data: raw strings sent to a loaded encoder come out as the training rows did, and without gaps."""
    frame = pd.DataFrame(
        {
            "n": np.array([np.nan if n is None else n for n, _ in rows]),
            "c": pd.Categorical([c for _, c in rows], categories=list("cab")),
        }
    )
    encoder = TableEncoder(None, scale=False).fit(frame)
    trained = encoder.transform(frame)
    loaded = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    sent = pd.DataFrame(
        {"c": [c for _, c in rows], "n": [None if n is None else repr(n) for n, _ in rows]}, dtype=object
    )
    np.testing.assert_array_equal(loaded.transform(sent), trained)
    assert np.isfinite(trained).all()


def test_the_features_of_a_date_are_those_of_the_calendar():
    moments = np.arange(-719_162, 2_900_000, 997) * 86_400.0 + 3 * 3600
    found = columns.date_features(moments, dates.PARTS)
    for row, moment in zip(found, moments, strict=True):
        day = dates.ORIGIN + datetime.timedelta(seconds=moment)
        assert row.tolist() == [day.year, day.month, day.weekday(), (day - dates.ORIGIN).days, 3.0]
    assert np.isnan(columns.date_features(np.array([math.nan]), dates.PARTS)).all()
