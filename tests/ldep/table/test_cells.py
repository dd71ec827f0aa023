"""The reading of single cells, as a table of examples."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest

from ldep.table import cells


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("red", "red"),
        (" red\t", "red"),
        ("", None),
        ("  ", None),
        ("?", None),
        ("NA", None),
        (" None ", None),
        ("none", "none"),
        ("NAN", None),
        ("TRUE", 1.0),
        ("true", 1.0),
        ("False", 0.0),
        ("tRUE", "tRUE"),
        (True, 1.0),
        (np.False_, 0.0),
        ("1", 1.0),
        ("01", 1.0),
        ("1.0", 1.0),
        (" +1 ", 1.0),
        ("1e3", 1000.0),
        ("1_000", "1_000"),
        ("1,5", "1,5"),
        ("١٢", "١٢"),  # digits of another script
        (1234567, 1234567.0),
        (np.float32(0.5), 0.5),
        (np.int64(2**53 + 1), 2.0**53),
        ("9007199254740993", 2.0**53),
        (10**400, np.inf),
        ("1e400", np.inf),
        (-(10**400), -np.inf),
        (float("nan"), None),
        (None, None),
        (pd.NA, None),
        (pd.NaT, None),
        (np.datetime64("NaT").astype("timedelta64[s]"), None),
        (decimal.Decimal("0.10"), 0.1),
        (decimal.Decimal("sNaN"), None),
        (datetime.timedelta(milliseconds=1500), 1.5),
        (np.timedelta64(1500, "ms"), 1.5),
        (pd.Timedelta(1, "ns"), 1e-9),
        (b"red ", "red"),
    ],
)
def test_a_cell_is_what_it_reads_as(cell, value):
    assert cells.read(cell) == value


@pytest.mark.parametrize("cell", [[1], {}, (1,), np.array([1]), datetime.date(2020, 1, 1), 1j, object(), b"\xff"])
def test_other_kinds_of_cells_are_refused(cell):
    with pytest.raises(ValueError, match=r"neither a number nor text|not UTF-8"):
        cells.read(cell)


@pytest.mark.parametrize("cell", ["inf", 1e151, -1e151, 10**400, "1.7e308"])
def test_a_number_that_overflows_squares_is_refused(cell):
    with pytest.raises(ValueError, match=r"infinite|beyond"):
        cells.read_number(cell)
    with pytest.raises(cells.CellError, match="row 1, column 'n'"):
        cells.numbers_of(pd.Series([1.0, cell, 3.0], name="n"))


def test_the_row_and_column_of_a_bad_cell_are_named():
    for dtype in (object, "str", "category"):
        with pytest.raises(cells.CellError, match=r"row 2, column 'n': 'wide' is not a number\.") as caught:
            cells.numbers_of(pd.Series(["1", "2", "wide"], name="n", dtype=dtype))
        assert (caught.value.row, caught.value.column) == (2, "n")


def test_an_unused_category_that_is_no_number_does_no_harm():
    column = pd.Series(pd.Categorical(["1", None], categories=["1", "wide"]))
    np.testing.assert_array_equal(cells.numbers_of(column), [1, np.nan])


def test_any_spelling_of_a_number_finds_its_only_category():
    column = pd.Series(["01", "1", 1, 1.0, "TRUE", "2", None, "x"], dtype=object)
    np.testing.assert_array_equal(cells.codes_of(column, ["01", "2"]), [0, 0, 0, 0, 0, 1, np.nan, np.nan])
    assert cells.distinct(["01", "1", "NA", "2"]) == ["01", "2"]


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("01", 0),
        (" 1 ", 1),
        (b"01", 0),
        ("1.0", 1),  # not declared: as a number
        (1, 1),
        (1.0, 1),
        (True, 1),
        (".20", 2),
        ("0.200", 3),
        ("0.2", 2),  # no category is written as the number is, so the first one counts
        (0.2, 2),
        ("True", 1),
        ("FALSE", 4),
        ("false", 5),
        (0, 4),
        ("x", 6),
        ("NA", np.nan),
    ],
    ids=repr,
)
def test_equal_numbers_that_are_declared_apart_are_found_by_their_spelling_and_else_by_their_value(cell, code):
    categories = ["01", "1", ".20", "0.200", "FALSE", "false", "x", "NA"]
    codes = cells.codes_of(pd.Series([cell], dtype=object), categories)
    np.testing.assert_array_equal(codes, [code])


def test_undeclared_categories_are_sorted_by_number_and_then_by_text():
    assert cells.in_order(["b", "10", "2", "a", "1"]) == ["1", "2", "10", "a", "b"]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["1", "9", None, "NA", " x", ""], dtype=object),
        pd.Series(["1", "9", None, "NA", " x", ""], dtype="str"),
        pd.Series(["1", "9", None, "NA", " x", ""], dtype="category"),
        pd.Series([1, 9, np.nan, np.nan, 8, np.nan]),
    ],
    ids=["objects", "text", "categories", "numbers"],
)
def test_a_value_that_is_no_category_is_taken_as_missing_and_an_empty_cell_is_missing(column):
    assert cells.taken_as_missing(column, cells.codes_of(column, ["1", "2"])).tolist() == [1, 4]


def test_a_cell_that_cannot_be_read_at_all_is_taken_as_missing():
    column = pd.Series([b"\xff", datetime.date(2020, 1, 1), None], dtype=object)
    assert cells.taken_as_missing(column, np.full(3, np.nan)).tolist() == [0, 1]
