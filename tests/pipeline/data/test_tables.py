"""The reader of tables: what a file means, in each format, and what is reported or refused."""

from __future__ import annotations

import datetime
import decimal
import logging
import re
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.data import tables
from ldep_pipeline.data.frames import read_frame
from ldep_pipeline.data.tables import Layout, open_table


@pytest.fixture
def frame_of(tmp_path, caplog):
    """Write a file, read it as a frame, and return it with the log."""

    def run(content: str | bytes | pa.Table, name: str = "rows.csv", **options) -> tuple[pd.DataFrame, str]:
        path = tmp_path / name
        if isinstance(content, pa.Table):
            pyarrow.parquet.write_table(content, path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        caplog.clear()
        caplog.set_level(logging.INFO)
        ignore = options.pop("ignore", ())
        return read_frame(path, "label", ignore, Layout(**options)), caplog.text

    return run


def parquet(**columns) -> pa.Table:
    return pa.table({**columns, "label": ["a", "b", "a"]})


def test_decimal_commas_are_numbers_where_they_are_declared(frame_of):
    frame, log = frame_of("x;label\n1,5;a\n -2,25e1 ;b\n3;a\n;b\n", delimiter=";", decimal=",")
    np.testing.assert_array_equal(frame["x"], [1.5, -22.5, 3, np.nan])
    assert "look like numbers" not in log


def test_where_the_comma_is_the_decimal_sign_a_point_separates_thousands_or_is_refused(frame_of):
    frame, _ = frame_of("x;label\n1,5;a\n1.500;b\n-1.234.567,25;a\n", delimiter=";", decimal=",")
    assert frame["x"].tolist() == [1.5, 1500.0, -1234567.25]
    with pytest.raises(UserError, match=r"line 3, column 'x': '1\.50' has a point"):
        frame_of("x;label\n1,5;a\n1.50;b\n", delimiter=";", decimal=",")


@pytest.mark.parametrize(
    ("cells", "hint"),
    [
        (["1,5", "2,5", "x"], r"The first that is none: '1,5' \(line 2\).*write all numbers so"),
        (["12 %", "13 %", "9"], r"'12 %' \(line 2\)"),
        (["1.234,5", "2.5", "3"], r"'1\.234,5' \(line 2\)"),
        (["1", "2", "unknown"], r"'unknown' \(line 4\)"),
    ],
)
def test_a_text_column_that_looks_numeric_is_reported(frame_of, cells, hint):
    rows = "".join(f"{cell};{label}\n" for cell, label in zip(cells, "aba"))
    frame, log = frame_of(f"x;label\n{rows}", delimiter=";")
    assert str(frame["x"].dtype) == "category"
    assert "column 'x' is taken as nominal, although" in log
    assert re.search(hint, log)


def test_numbers_stored_as_text_in_parquet_are_reported_and_sorted_by_value(frame_of):
    frame, log = frame_of(parquet(x=["10", "2", "1"]), "rows.parquet")
    assert frame["x"].cat.categories.tolist() == ["1", "2", "10"]
    assert "3 of its 3 cells look like numbers. Store the column as numbers" in log


@pytest.mark.parametrize("cells", [["red", "blue", "1"], ["2020-01-01", "2021-01-01", "x"], ["a1", "b2", "c3"]])
def test_words_and_dates_are_not_reported(frame_of, cells):
    _, log = frame_of(parquet(x=cells), "rows.parquet")
    assert "look like numbers" not in log


def test_decimals_and_durations_of_parquet_are_numbers(frame_of):
    prices = [decimal.Decimal("0.10"), decimal.Decimal("12345678.90"), None]
    spans = [datetime.timedelta(seconds=1.5), None, datetime.timedelta(days=200)]
    frame, _ = frame_of(
        parquet(price=pa.array(prices, pa.decimal128(12, 2)), span=pa.array(spans, pa.duration("us"))), "rows.parquet"
    )
    np.testing.assert_array_equal(frame["price"], [0.1, 12345678.9, np.nan])
    np.testing.assert_array_equal(frame["span"], [1.5, np.nan, 200 * 86400.0])


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([[1], [2, 3], None]),
        pa.array([{"a": 1}, None, {"a": 2}]),
        pa.array([datetime.time(12, 30)] * 3),
    ],
)
def test_a_parquet_column_of_another_kind_is_refused_unless_ignored(frame_of, cells):
    table = parquet(x=[1.0, 2.0, 3.0], odd=cells)
    with pytest.raises(UserError, match=r"the column 'odd' holds .*, neither numbers nor text; leave it out"):
        frame_of(table, "rows.parquet")
    assert frame_of(table, "rows.parquet", ignore=["odd"])[0].columns.tolist() == ["x", "label"]


def test_parquet_dates_are_read_as_text_in_iso_form(frame_of):
    day, moment = datetime.date(2020, 2, 29), datetime.datetime(2020, 2, 29, 12, 30, 1, 999_999)
    ahead = moment.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    table = parquet(
        day=pa.array([day, None, day]),
        midnight=pa.array([datetime.datetime(2020, 1, 1)] * 3),
        moment=pa.array([moment, None, moment], pa.timestamp("ns")),
        ahead=pa.array([ahead] * 3, pa.timestamp("us", "Europe/Berlin")),
    )
    frame, _ = frame_of(table, "rows.parquet")
    assert [frame[name].iloc[0] for name in ("day", "midnight", "moment", "ahead")] == [
        "2020-02-29",
        "2020-01-01",
        "2020-02-29 12:30:01",
        "2020-02-29 10:30:01",
    ]
    assert frame["day"].isna().tolist() == [False, True, False]


def test_the_index_of_a_pandas_frame_is_no_feature(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "label": ["a", "b"]}, index=[7, 8])
    frame.to_parquet(tmp_path / "rows.parquet")
    assert open_table(tmp_path / "rows.parquet").columns == ["x", "label"]


def test_an_arff_file_may_declare_very_many_categories(tmp_path):
    """100,000 of them: a search for each among all of them took minutes."""
    declared = ",".join(f"c{number}" for number in range(100_000))
    path = tmp_path / "many.arff"
    path.write_text(f"@relation r\n@attribute c {{{declared}}}\n@attribute label {{a,b}}\n@data\nc7,a\nc99999,b\n")
    began = time.process_time()
    (piece,) = open_table(path).pieces(["c"])
    assert piece["c"].to_pylist() == ["c7", "c99999"]
    assert time.process_time() - began < 10


def test_an_arff_category_may_not_be_declared_twice(frame_of):
    with pytest.raises(UserError, match="the attribute 'c' declares the category 'red' twice"):
        frame_of(
            "@RELATION r\n@ATTRIBUTE c {red,blue,red}\n@ATTRIBUTE label {a,b}\n@DATA\nred,a\nblue,b\n", "rows.arff"
        )


def test_an_arff_integer_keeps_its_decimals(frame_of):
    frame, _ = frame_of("@RELATION r\n@ATTRIBUTE x INTEGER\n@ATTRIBUTE label {a,b}\n@DATA\n1.5,a\n2,b\n", "rows.arff")
    assert frame["x"].tolist() == [1.5, 2.0]


@pytest.mark.parametrize("encoding", ["punycode", "undefined", "rot13", "hex", "latin-77", ""])
def test_an_encoding_that_is_none_for_text_is_refused(encoding):
    with pytest.raises(UserError, match="there is no encoding"):
        Layout(encoding=encoding)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": "ab"}, "delimiter 'ab' cannot be used"),
        ({"delimiter": "\n"}, "cannot be used"),
        ({"delimiter": '"'}, "cannot be used"),
        ({"decimal": ";"}, "decimal sign ';' cannot be used"),
        ({"decimal": ","}, "are both ','"),
    ],
)
def test_a_layout_that_cannot_be_read_is_refused(options, message):
    with pytest.raises(UserError, match=message):
        Layout(**options)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
def test_text_encodings(frame_of, encoding):
    frame, _ = frame_of("größe,label\n1,ä\n2,ö\n".encode(encoding), encoding=encoding)
    assert frame.columns.tolist() == ["größe", "label"]
    assert frame["label"].tolist() == ["ä", "ö"]


def test_a_number_that_overflows_is_refused_beside_a_missing_cell(frame_of):
    """The mean of 1.7e308 and 1.7e308 is infinite, and was imputed as 0."""
    with pytest.raises(UserError, match=r"line 3, column 'x': 1\.7e\+308 is beyond ±1e\+150"):
        frame_of("x,label\n,a\n1.7e308,b\n1.7e308,a\n")


def test_texts_that_read_the_same_are_one_category_and_reported(frame_of):
    frame, log = frame_of(parquet(x=["01", "1", "red"]), "rows.parquet")
    assert frame["x"].cat.categories.tolist() == ["01", "red"]
    assert "column 'x': '01', '1' read the same and count as one category" in log


ARFF = """\
@relation bands
@attribute x {.200, '0.2 ', 0.200, NA, 1}
@attribute label {a, b}
@data
0.200,a
'0.2 ',b
.200,a
NA,b
1,a
"""


@pytest.mark.parametrize("suffix", ["arff", "parquet"])
def test_equal_numbers_that_the_file_declares_apart_stay_apart_and_are_reported(frame_of, suffix):
    content: str | pa.Table = ARFF
    if suffix == "parquet":
        indices = pa.array([2, 1, 0, 3, 4], pa.int32())
        x = pa.DictionaryArray.from_arrays(indices, [".200", "0.2 ", "0.200", "NA", "1"])
        content = pa.table({"x": x, "label": ["a", "b", "a", "b", "a"]})
    frame, log = frame_of(content, f"rows.{suffix}")
    assert frame["x"].cat.categories.tolist() == [".200", "0.2", "0.200", "1"]
    assert frame["x"].cat.codes.tolist() == [2, 1, 0, -1, 3]
    assert "column 'x': '.200', '0.2', '0.200' read the same and stay different categories" in log


def test_words_for_missing_cells_are_reported(frame_of):
    frame, log = frame_of("x,label\nNone,a\nred,b\nblue,a\n")
    assert frame["x"].isna().tolist() == [True, False, False]
    assert "column 'x': 'None' counts as a missing cell" in log


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1 << 20])
def test_the_size_of_blocks_does_not_matter(tmp_path, monkeypatch, ending, size):
    lines = ["x,note,label", "1,plain,a", '2,"two, or', 'more ""lines""",b', "", " 3 , last ,a"]
    (tmp_path / "rows.csv").write_bytes(ending.join(lines).encode())
    monkeypatch.setattr(tables, "BLOCK", size)
    pieces = list(open_table(tmp_path / "rows.csv").pieces(["x", "note", "label"], ["x"]))
    rows = pd.concat([piece.to_pandas().astype(str) for piece in pieces], ignore_index=True)
    assert [cell.strip() for cell in rows["note"]] == ["plain", f'two, or{ending}more "lines"', "last"]
    assert [float(cell) for cell in rows["x"]] == [1, 2, 3]


def test_an_error_names_the_line_also_behind_quotes_and_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "BLOCK", 16)
    (tmp_path / "rows.csv").write_text('x,label\n1,"a\nb"\n\n2,c\n3,d,e\n')
    with pytest.raises(UserError, match="line 6 has 3 cells where the header has 2"):
        list(open_table(tmp_path / "rows.csv").pieces(["x", "label"]))
    assert open_table(tmp_path / "rows.csv").place(1) == "line 5"
