"""A table as people have it goes into an estimator as it is: the encoder decides by the cells, and says what it did."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ldep import LDEPClassifier
from ldep.table import CellError, ColumnError, TableEncoder
from tests.support import raw_table

FRAME, Y = raw_table.shop()


@parametrize_with_checks([TableEncoder()])
def test_it_obeys_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_kind_of_a_column_follows_from_its_cells_and_what_is_left_out_is_said():
    with pytest.warns(UserWarning, match="Left out: 'id', as it numbers the rows"):
        encoder = TableEncoder().fit(FRAME)
    assert encoder.kinds == {
        "since": "date",
        "age": "numeric",
        "income": "numeric",
        "share": "numeric",
        "contract": "nominal",
        "member": "nominal",
        "score": "numeric",
    }
    assert list(encoder.left_out_) == ["id"]
    assert encoder.remarks_["income"] == ["numbers written like 1,234.5"]
    assert len(encoder.feature_names_in_) == encoder.n_features_in_ == 8


@pytest.mark.filterwarnings("ignore:Left out")
def test_encode_says_it_otherwise():
    encoder = TableEncoder({"age": "one_hot", "since": "drop"}).fit(FRAME)
    assert encoder.kinds["age"] == "nominal"
    assert encoder.left_out_["since"] == "encode says so"
    assert set(TableEncoder("frequency").fit(FRAME).get_feature_names_out()) >= {"contract:frequency"}


def test_what_encode_leaves_out_needs_no_warning(recwarn):
    TableEncoder({"id": "drop"}).fit(FRAME)
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.filterwarnings("ignore:Left out")
def test_a_pipeline_of_it_fits_the_raw_table_and_takes_cells_as_clients_write_them():
    pipe = make_pipeline(TableEncoder(), LDEPClassifier(2, 2, random_state=0)).fit(FRAME, Y)
    assert pipe.score(FRAME, Y) > 0.9
    sent = FRAME.drop(columns="id").astype(object)
    sent["age"], sent["since"] = sent["age"].map(str), sent["since"].map(lambda day: day.date().isoformat())
    assert pipe.predict(sent).tolist() == pipe.predict(FRAME).tolist()


@pytest.mark.filterwarnings("ignore:Left out")
def test_features_are_standardised_to_the_bit_as_standard_scaler_does():
    before = TableEncoder(scale=False).fit_transform(FRAME)
    np.testing.assert_array_equal(TableEncoder().fit_transform(FRAME), StandardScaler().fit_transform(before))


@pytest.mark.filterwarnings("ignore:Left out")
def test_without_imputing_missing_numbers_stay_and_the_rest_is_standardised():
    encoder = TableEncoder(impute=False).fit(FRAME)
    features = encoder.transform(FRAME)
    assert np.isnan(features).any()
    np.testing.assert_allclose(np.nanmean(features, axis=0), 0, atol=1e-12)
    loaded = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json(), allow_nan=False)))
    np.testing.assert_array_equal(loaded.transform(FRAME), features)


@pytest.mark.filterwarnings("ignore:Left out")
def test_a_polars_table_gives_the_same_features():
    columns = {name: FRAME[name].astype(object).where(FRAME[name].notna(), None).tolist() for name in FRAME.columns}
    table = pl.DataFrame(columns, strict=False)
    np.testing.assert_array_equal(TableEncoder().fit_transform(table), TableEncoder().fit_transform(FRAME))
    frame = TableEncoder().set_output(transform="polars").fit_transform(table)
    assert isinstance(frame, pl.DataFrame)
    with pytest.raises(TypeError, match=r"Pass X.collect\(\)"):
        TableEncoder().fit(table.lazy())


@pytest.mark.filterwarnings("ignore:Left out")
def test_its_output_has_the_names_of_the_features():
    frame = TableEncoder().set_output(transform="pandas").fit_transform(FRAME)
    assert frame.columns.tolist() == TableEncoder().fit(FRAME).get_feature_names_out().tolist()
    assert {"member", "contract=yearly", "since:month", "score:missing"} <= set(frame.columns)


@pytest.mark.filterwarnings("ignore:Left out")
def test_cells_of_every_type_are_read_as_their_text_is():
    day = datetime.date(2024, 2, 29)
    frame = pd.DataFrame(
        {
            "day": [day, None, datetime.date(2023, 1, 1)] * 10,
            "yes": pd.array([True, None, False] * 10, dtype="boolean"),
            "level": pd.Categorical([3, 1, 2] * 10, categories=[3, 1, 2], ordered=True),
            "count": pd.array([1, None, 3] * 10, dtype="Int64"),
            "span": pd.to_timedelta([60, 120, 60] * 10, unit="s"),
            "mixed": ["1", 2, None] * 10,
        }
    )
    texts = pd.DataFrame(
        {
            "day": ["2024-02-29", "", "2023-01-01"] * 10,
            "yes": ["True", "", "False"] * 10,
            "level": pd.Categorical(["3", "1", "2"] * 10, categories=["3", "1", "2"]),
            "count": ["1", "NA", "3"] * 10,
            "span": ["60", "120", "60"] * 10,
            "mixed": ["1", "2", "?"] * 10,
        }
    )
    encoder = TableEncoder().fit(frame)
    assert encoder.to_json()["columns"] == TableEncoder().fit(texts).to_json()["columns"]
    np.testing.assert_array_equal(encoder.transform(frame), TableEncoder().fit_transform(texts))
    np.testing.assert_array_equal(encoder.transform(texts), encoder.transform(frame))


@pytest.mark.filterwarnings("ignore:Left out")
def test_the_range_and_the_grid_of_each_column_are_known():
    ranges = TableEncoder().fit(FRAME).ranges_
    assert set(ranges) == {"since", "age", "income", "share", "score"}
    assert (ranges["age"].least, ranges["age"].largest) == (FRAME["age"].min(), FRAME["age"].max())
    assert ranges["age"].whole
    assert (ranges["income"].decimals, ranges["income"].step) == (2, 0.01)
    assert (ranges["share"].decimals, ranges["share"].step) == (2, 0.05)
    assert (ranges["score"].decimals, ranges["score"].step) == (None, 0.0)
    assert ranges["since"].step == 86_400
    assert list(ranges["age"].quantiles) == sorted(ranges["age"].quantiles)
    assert set(ranges["score"].quantiles) <= set(FRAME["score"])


@pytest.mark.parametrize(
    ("values", "decimals", "step", "distinct"),
    [
        ([5.0, 10.0, 20.0], 0, 5.0, 3),
        ([0.25, 0.5, 1.0], 2, 0.25, 3),
        ([3.0, 4.0, np.nan], 0, 1.0, 2),
        ([1 / 3, 0.5, 0.7], None, 0.0, 3),
        ([1e12 + 0.5, 1.0, 2.0], None, 0.0, 3),
        ([19.99, 29.99, 9.99], 2, 10.0, 3),
    ],
)
def test_the_grid_is_the_largest_step_that_all_values_have(values, decimals, step, distinct):
    found = TableEncoder({"x": "numeric"}).fit(pd.DataFrame({"x": values})).ranges_["x"]
    assert (found.decimals, found.step, len(found.values)) == (decimals, step, distinct)
    assert found.two_valued == (distinct == 2)


@pytest.mark.parametrize(
    ("encoder", "frame", "error", "message"),
    [
        (TableEncoder("sparse"), FRAME, ValueError, "encode is 'sparse'; it must be one of auto, ordinal"),
        (TableEncoder({"age": "nominal"}), FRAME, ValueError, "encode of the column 'age' is 'nominal'"),
        (TableEncoder({"ages": "numeric"}), FRAME, ValueError, "encode names 'ages', which is not a column"),
        (TableEncoder({"contract": "date"}), FRAME, ColumnError, "column 'contract': these are not dates of one form"),
        (TableEncoder(strategy="mode"), FRAME, ValueError, "strategy is 'mode'; it must be one of mean, median"),
        (TableEncoder(), FRAME[["id"]], ValueError, "No column is left to encode: 'id', as it numbers the rows"),
        (TableEncoder(), pd.concat([FRAME, FRAME["age"]], axis=1), ValueError, "The column 'age' appears twice"),
        (TableEncoder(), FRAME.assign(x=[[1]] * len(FRAME)), CellError, r"row 0, column 'x': \[1\] is neither a num"),
        (TableEncoder(), FRAME.assign(x=np.inf), CellError, "row 0, column 'x': the number is infinite"),
    ],
)
def test_bad_input_is_named(encoder, frame, error, message):
    with pytest.raises(error, match=message):
        encoder.fit(frame)


@pytest.mark.filterwarnings("ignore:Left out")
def test_a_row_without_a_needed_column_is_refused():
    encoder = TableEncoder().fit(FRAME)
    encoder.transform(FRAME.drop(columns="id"))
    with pytest.raises(ValueError, match="the rows have no column 'age'"):
        encoder.transform(FRAME.drop(columns="age"))


@pytest.mark.filterwarnings("ignore:Left out")
def test_a_loaded_encoder_is_the_same_and_its_clone_begins_anew():
    encoder = TableEncoder({"since": "drop"}, "median").fit(FRAME)
    loaded = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json(), allow_nan=False)))
    assert loaded.get_params() == encoder.get_params() == clone(loaded).get_params()
    assert (loaded.ranges_, loaded.left_out_, loaded.remarks_) == (
        encoder.ranges_,
        encoder.left_out_,
        encoder.remarks_,
    )
