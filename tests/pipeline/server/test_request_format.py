"""Reading requests: every format gives the same cells, untouched, and what is wrong gets one sentence."""

from __future__ import annotations

import contextlib
import gc
import json
import math
import tracemalloc

import pytest

from ldep_pipeline.server import request_format
from ldep_pipeline.server.refusals import BadRequest
from ldep_pipeline.server.request_format import CSV, JSON
from tests.support import malformed, shapes

CELLS = [True, False, None, 0, 1234567890123, 0.1, -0.0, 1e300, "", " a ", "01", "TRUE", "NA", "1e3", "\u00e9", "a,b"]
ROW = {"a": 1, "b": "x"}


def read(body: object, content_type: str | None = JSON, columns: tuple[str, ...] = ("a", "b", "c")) -> list[dict]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (
        request_format.read(data, request_format.media_type(content_type), columns)[0].frame().to_dict(orient="records")
    )


def same(left: object, right: object) -> bool:
    return type(left) is type(right) and (left == right or (isinstance(left, float) and math.isnan(left)))


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("other", [None, 1, 0.5, "text", True])
def test_a_cell_arrives_as_it_was_sent_alone_and_beside_any_other(cell, other):
    column = [cell, other]
    bodies = [
        {"dataframe_split": {"columns": ["a"], "data": [[value] for value in column]}},
        {"dataframe_records": [{"a": value} for value in column]},
        {"instances": [{"a": value} for value in column]},
        {"inputs": {"a": column}},
        {"inputs": [{"a": value} for value in column]},
    ]
    for body in bodies:
        rows = read(body)
        assert same(rows[0]["a"], cell), body
        assert same(rows[1]["a"], other), body


def test_cells_of_a_csv_table_are_text():
    text = 'a,b\nTRUE,01\n" x ","1,5"\n\n,é\n'
    expected = [{"a": "TRUE", "b": "01"}, {"a": " x ", "b": "1,5"}, {"a": "", "b": "é"}]
    for body in (text.encode(), text.encode("utf-8-sig"), text.replace("\n", "\r\n").encode()):
        assert read(body, "text/csv; charset=utf-8") == expected


def test_blanks_around_the_names_of_a_csv_table_do_not_count():
    """As in training, where `width , "colour"` are the columns `width` and `colour`."""
    rows = [{"width": "0.3", "colour": "red, dark"}]
    assert read(b'width , "colour"\n0.3, "red, dark"\n', "text/csv", ("width", "colour")) == rows


def test_a_record_may_lack_a_cell_and_one_row_may_come_without_lists():
    assert read({"instances": [ROW, {"b": "y", "c": 2}]})[1] == {"a": None, "b": "y", "c": 2}
    assert read({"inputs": ROW}) == [ROW]
    assert read({"dataframe_split": {"columns": ["a"], "data": []}}) == []


def test_params_are_returned():
    body = json.dumps({"inputs": ROW, "params": {"output": "full"}}).encode()
    assert request_format.read(body, JSON, ["a"])[1] == {"output": "full"}
    assert request_format.read(json.dumps({"inputs": ROW, "params": None}).encode(), JSON, ["a"])[1] == {}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "The body is not JSON"),
        (b"\xff", "The body is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"9" * 5000, "The body is not JSON"),
        ([1], "The body is a list"),
        (7, "The body is a number"),
        ({}, "The body has no field; it must have exactly one of dataframe_split"),
        ({"inputs": ROW, "instances": [ROW]}, "The body has inputs, instances; it must have exactly one"),
        ({"dataframe_split": [1]}, "must be an object with the lists 'columns' and 'data'"),
        ({"dataframe_split": {"columns": ["a"]}}, "must be an object with the lists 'columns' and 'data'"),
        ({"dataframe_split": {"columns": [1], "data": [[1]]}}, "A column's name is a number"),
        ({"dataframe_split": {"columns": ["a", "a"], "data": []}}, "The column 'a' appears twice"),
        ({"dataframe_split": {"columns": ["a"], "data": [[1], [1, 2]]}}, "Row 1 has 2 cells; there are 1 columns"),
        ({"dataframe_split": {"columns": ["a"], "data": [1]}}, "Row 0 is a number"),
        ({"dataframe_records": ROW}, "dataframe_records is an object"),
        ({"instances": [ROW, None]}, "instances, row 1 is null"),
        ({"inputs": {"a": [1, 2], "b": [1]}}, "columns of different lengths: [1, 2] cells, in 'b' and before"),
        ({"inputs": {"a": [[1]]}}, "Row 0, column 'a': the cell is a list, not a single value"),
        ({"instances": [{"a": {}}]}, "Row 0, column 'a': the cell is an object"),
        ({"inputs": ROW, "params": [1]}, "params is a list"),
        ({"inputs": ROW, "params": {"outputs": "full"}}, "params has the unknown key 'outputs'"),
    ],
)
def test_what_is_wrong_with_json(body, message):
    with pytest.raises(BadRequest) as caught:
        read(body)
    assert message in str(caught.value)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "it has no header line"),
        (b"a,b\n1\n", "Row 0 has 1 cells; there are 2 columns"),
        (b"a,a\n", "The column 'a' appears twice"),
        (b'a\n"1\n', "The body is not a CSV table"),
        (b"a\n" + b"x" * 10_000_001, "field larger than field limit"),
    ],
)
def test_what_is_wrong_with_csv(body, message):
    with pytest.raises(BadRequest) as caught:
        read(body, CSV)
    assert message in str(caught.value)


@pytest.mark.parametrize("kind", [None, "", "text/plain", "application/json; charset=latin-1", "text/csv; header=no"])
def test_other_content_types_are_refused(kind):
    with pytest.raises(BadRequest, match="content type") as caught:
        read({"inputs": ROW}, kind)
    assert caught.value.status == 415


def peak(data: bytes, kind: str, columns: list[str]) -> int:
    """The memory that reading a body and looking at its rows takes at most."""
    gc.collect()
    tracemalloc.start()
    with contextlib.suppress(BadRequest):  # many shapes are refused: what counts is what it cost
        rows, _ = request_format.read(data, kind, columns)
        for _, part in rows.parts(1000):
            part.to_numpy()
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return memory


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_no_shape_of_a_body_costs_more_than_forty_times_its_size(shape):
    """Columns of a few and of many characters; the table that is made of a thousand rows at a time comes on top."""
    for size in (10_000, 300_000):
        data, kind = shapes.body(shape, size)
        for columns in (malformed.COLUMNS, [*malformed.COLUMNS, *(f"c{number}" for number in range(96))]):
            memory = peak(data, kind, columns)
            table = 1000 * len(columns) * 24
            assert memory < 40 * len(data) + table, (size, len(columns), memory / len(data))


def test_a_key_of_its_own_in_each_row_takes_linear_time():
    """20,000 rows of 12 characters took 9.7 GB and 107 s: a table of all keys and all rows."""
    data = json.dumps({"dataframe_records": [{f"k{number}": 1} for number in range(20_000)] + [ROW]}).encode()
    rows, _ = request_format.read(data, JSON, ["a", "b"])
    assert rows.count == 20_001
    assert rows.frame(20_000).to_dict(orient="records") == [ROW]


def test_rows_that_leave_out_most_cells_are_refused():
    columns = [f"c{number}" for number in range(100)]
    full = {"instances": [{}] * 2000 + [dict.fromkeys(columns, 1)]}
    with pytest.raises(BadRequest, match=r"The body has 2001 rows of 100 columns .* most cells are left out") as caught:
        read(full, columns=tuple(columns))
    assert caught.value.status == 413
    assert len(read({"instances": full["instances"][-900:]}, columns=tuple(columns))) == 900
