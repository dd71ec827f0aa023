"""The same cell gives the same number: in every file format, request and exported model, alone and in any company."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
import subprocess
import tempfile
from pathlib import Path

import arff
import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldep.answers import READING, steps_of
from ldep.export._c import cell_reader
from ldep.export._onnx import add_numbers
from ldep.export._onnx_model import ROWS, Graph
from ldep.table import Nominal, Numeric, TableEncoder, cells, columns, spelling
from ldep_pipeline.data.frames import read_frame
from ldep_pipeline.data.tables import Layout, open_table
from ldep_pipeline.server import request_format
from ldep_pipeline.server.request_format import CSV, JSON
from tests.support import c_program

WORDS = ["red", " red", "blue ", "a,b", "a;b", 'say "x"', "it's", "größe", "None", "NA", "none", "?", "", "two words"]
NUMERALS = ["01", "1", "1.0", "+1", "1e3", "1000", "007", "1234567", "12345678901234567890", "1_000", "inf"]
TRUTH = ["TRUE", "FALSE", "True", "false"]
Cell = str | int | float | bool | None
CELLS = st.one_of(
    st.sampled_from([*WORDS, *NUMERALS, *TRUTH]),
    st.text(alphabet="abT019 .,;'\"\néß_-+eE%?", max_size=8),
    st.integers(-10, 10),
    st.integers(-(10**20), 10**20),
    st.floats(-1e100, 1e100),
    st.booleans(),
    st.none(),
)


def as_text(cell: Cell) -> str:
    return "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)


def expected_code(cell: Cell, categories: list[str]) -> float:
    """The definition, written out once more: of the categories that read as the cell does, the one with its spelling,
    else the one with the usual spelling of the number, else the first."""
    value = cells.read(cell)
    equal = [code for code, category in enumerate(categories) if value is not None and cells.read(category) == value]
    text = cell.strip() if isinstance(cell, str) else None
    usual = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    equal.sort(key=lambda code: (categories[code] != text, categories[code] != usual, code))
    return float(equal[0]) if equal else math.nan


def frames(column: list[Cell]) -> dict[str, pd.DataFrame]:
    """The column as the server reads each kind of request, and as pandas would, which guesses types."""
    sent = json.loads(json.dumps([{"c": cell} for cell in column]))
    bodies = {
        "dataframe_records": sent,
        "dataframe_split": {"columns": ["c"], "data": [[cell] for cell in column]},
        "instances": sent,
        "inputs": {"c": column},
    }
    requests = {
        name: request_format.read(json.dumps({name: body}).encode(), JSON, ["c"])[0].frame()
        for name, body in bodies.items()
    }
    rows = io.StringIO()
    csv.writer(rows).writerows([["c", "second"], *([as_text(cell), "1"] for cell in column)])
    requests["text/csv"] = request_format.read(rows.getvalue().encode(), CSV, ["c"])[0].frame()
    return requests | {
        "records": pd.DataFrame(sent),
        "split": pd.DataFrame([[row["c"]] for row in sent], columns=["c"]),
        "inputs": pd.DataFrame({"c": np.array([row["c"] for row in sent])}),
        "objects": pd.DataFrame({"c": column}, dtype=object),
        "text": pd.DataFrame({"c": [as_text(cell) for cell in column]}),
        "category": pd.DataFrame({"c": pd.Categorical([as_text(cell) for cell in column])}),
    }


def files(folder: Path, column: list[Cell]) -> dict[str, tuple[Path, Layout]]:
    """The column as CSV (plain, quoted, `;` and latin-1), Parquet and ARFF files; a second column keeps empty rows."""
    rows = [[as_text(cell), "1"] for cell in column]
    written = {}
    for name, delimiter, quoting, encoding in [
        ("plain", ",", csv.QUOTE_MINIMAL, "utf-8"),
        ("quoted", ",", csv.QUOTE_ALL, "utf-8"),
        ("semicolon", ";", csv.QUOTE_MINIMAL, "latin-1"),
    ]:
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, quoting=quoting).writerows([["c", "label"], *rows])
        (folder / f"{name}.csv").write_bytes(text.getvalue().encode(encoding))
        written[f"CSV, {name}"] = folder / f"{name}.csv", Layout(delimiter, encoding=encoding)
    texts = [None if cell is None else as_text(cell) for cell in column]
    plain = pa.array(texts, pa.string())
    for name, array in {"text": plain, "dictionary": plain.dictionary_encode()}.items():
        path = folder / f"{name}.parquet"
        pyarrow.parquet.write_table(pa.table({"c": array, "label": ["1"] * len(rows)}), path, row_group_size=3)
        written[f"Parquet, {name}"] = path, Layout()
    content = {"relation": "r", "attributes": [("c", "STRING"), ("label", "STRING")]}
    data = [[None if cell is None else as_text(cell), "1"] for cell in column]
    (folder / "rows.arff").write_text(arff.dumps({**content, "data": data}), encoding="utf-8")
    written["ARFF"] = folder / "rows.arff", Layout()
    return written


def encoder_of(categories: list[str] | None) -> TableEncoder:
    column = Numeric("c") if categories is None else Nominal("c", tuple(categories))
    return TableEncoder([columns.to_json(column)], impute=False, scale=False).fit(pd.DataFrame({column.name: [None]}))


def scored(path: Path, layout: Layout, encoder: TableEncoder) -> np.ndarray:
    table = open_table(path, layout)
    pieces = [encoder.transform(piece.to_pandas()) for piece in table.pieces(["c"], encoder.numeric_columns)]
    return np.concatenate([np.empty((0, 1)), *pieces])[:, 0]


def codes_in_onnx(column: list[Cell], declared: list[list[str]]) -> np.ndarray:
    """The codes of the same texts in several columns, each with its own categories."""
    graph = Graph()
    texts = graph.input("texts", np.dtype(object), [ROWS, len(declared)])
    columns = [steps_of(Nominal("c", tuple(categories)))[0] for categories in declared]
    codes = add_numbers(graph, texts, columns, READING)
    graph.output(codes, "codes", np.float64, [ROWS, len(declared)])
    content = graph.model("codes", "", {}).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    cells_sent = np.array([[as_text(cell)] * len(declared) for cell in column], dtype=object)
    return session.run(None, {"texts": cells_sent})[0]


def readable_in_onnx(cell: Cell) -> bool:
    """Whether the cell is not one of the numbers that onnxruntime might refuse to convert."""
    return not re.search(r"[eE][+-]?0*[1-9][0-9]{2}", as_text(cell))


C_READER = (
    """\
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
"""
    + cell_reader(READING)
    + """
int main(void)
{
    static char cell[4096];
    const char *text;
    size_t size;
    double value;
    int letter, length = 0;
    while ((letter = getchar()) != EOF) {
        cell[length++] = (char)letter;
        if (letter != 0) continue;
        length = 0;
        switch (ldep_read(cell, &value, &text, &size)) {
        case LDEP_NUMBER: printf("number %.17g", value); break;
        case LDEP_TEXT: printf("text "); fwrite(text, 1, size, stdout); break;
        default: printf("missing"); break;
        }
        putchar(0);
    }
    return 0;
}
"""
)


@pytest.fixture(scope="module")
def c_reader(tmp_path_factory) -> Path | None:
    return c_program.compiled(C_READER, tmp_path_factory.mktemp("reader")) if c_program.compiler() else None


def check_c(column: list[Cell], program: Path | None) -> None:
    """C reads each text as Python does."""
    if program is None:
        return
    texts = [as_text(cell) for cell in column]
    sent = b"".join(text.encode() + b"\0" for text in texts)
    answers = subprocess.run([program], input=sent, capture_output=True, check=True).stdout.decode().split("\0")
    assert answers.pop() == ""  # each answer ends with a zero
    for text, answer in zip(texts, answers, strict=True):
        value, (kind, _, content) = cells.read(text), answer.partition(" ")
        assert kind == ("missing" if value is None else "text" if isinstance(value, str) else "number"), text
        assert value is None or value == (content if kind == "text" else float(content)), text


def are_spelled_numbers(texts: list[str]) -> bool:
    words = [text.strip() for text in texts if cells.read(text) is not None]
    return spelling.spelling_of(words) is not None and any(isinstance(cells.read(word), str) for word in words)


def check_nominal(column: list[Cell], folder: Path) -> None:
    texts = [as_text(cell) for cell in column]
    categories = cells.distinct(cells.in_order([text.strip() for text in dict.fromkeys(texts)]))
    encoder = encoder_of(categories)
    expected = np.array([expected_code(cell, categories) for cell in column])
    for name, frame in frames(column).items():
        np.testing.assert_array_equal(encoder.transform(frame)[:, 0], expected, err_msg=name)
        for row in random.Random(0).sample(range(len(column)), min(3, len(column))):  # alone
            one = frame.iloc[[row]].reset_index(drop=True)
            np.testing.assert_array_equal(encoder.transform(one)[:, 0], expected[[row]], err_msg=f"{name}, alone")
    check_onnx(column, [categories, categories[::-1]])
    trained = {}
    for name, (path, layout) in files(folder, column).items():
        np.testing.assert_array_equal(scored(path, layout, encoder), expected, err_msg=name)
        if name.startswith("CSV") and math.inf in map(cells.read, column):
            continue  # a CSV column of numbers may not have an infinite one
        frame = read_frame(path, "label", layout=layout)
        if are_spelled_numbers(texts):
            continue  # '1' and '1.000' are then two texts, until the encoder reads them as numbers
        fitted = TableEncoder(None, impute=False, scale=False).fit(frame[["c"]])
        if fitted.categories_[0] is not None and "dictionary" not in name:  # a dictionary declares its own order
            trained[name] = fitted.transform(frame[["c"]])[:, 0]
            np.testing.assert_array_equal(trained[name], expected, err_msg=f"training on {name}")
        np.testing.assert_array_equal(
            scored(path, layout, fitted), fitted.transform(frame[["c"]])[:, 0], err_msg=f"trained and scored: {name}"
        )


def check_declared(column: list[Cell], folder: Path) -> None:
    """A column that declares every other text, equal numbers included. All cells are text: numbers have no spelling."""
    texts = [cell for cell in column if isinstance(cell, str)]
    categories = cells.present([text.strip() for text in texts[::2]])
    if not categories:
        return
    encoder = encoder_of(categories)
    expected = np.array([expected_code(cell, categories) for cell in texts])
    for name, frame in frames(list(texts)).items():
        np.testing.assert_array_equal(encoder.transform(frame)[:, 0], expected, err_msg=name)
    for name, (path, layout) in files(folder, list(texts)).items():
        np.testing.assert_array_equal(scored(path, layout, encoder), expected, err_msg=name)
    check_onnx(list(texts), [categories, categories[::-1], cells.distinct(categories)])


def check_onnx(column: list[Cell], declared: list[list[str]]) -> None:
    if not declared[0]:
        return
    known = [row for row, cell in enumerate(column) if readable_in_onnx(cell)]
    for place, (codes, categories) in enumerate(zip(codes_in_onnx(column, declared).T, declared)):
        expected = np.array([expected_code(cell, categories) for cell in column])
        np.testing.assert_array_equal(codes[known], expected[known], err_msg=f"ONNX, column {place}")


def check_numeric(column: list[Cell], folder: Path) -> None:
    """A column of numbers: as text, as numbers of each type, and as categories."""
    encoder = encoder_of(None)
    expected = np.array([math.nan if (value := cells.read(cell)) is None else value for cell in column])
    for name, frame in frames(column).items():
        np.testing.assert_array_equal(encoder.transform(frame)[:, 0], expected, err_msg=name)
    for name, (path, layout) in files(folder, column).items():
        np.testing.assert_array_equal(scored(path, layout, encoder), expected, err_msg=name)
        if name.startswith("CSV"):
            frame = read_frame(path, "label", layout=layout)
            np.testing.assert_array_equal(frame["c"], expected, err_msg=f"training on {name}")


def is_number(cell: Cell) -> bool:
    value = cells.read(cell)
    if value is None:
        return True
    return isinstance(value, float) and abs(value) <= cells.LARGEST and as_text(cell).strip() not in cells.TRUTH


def check(column: list[Cell], c_reader: Path | None) -> None:
    numbers = [cell for cell in column if is_number(cell)]
    check_c(column, c_reader)
    with tempfile.TemporaryDirectory() as folder:
        check_nominal(column, Path(folder))
        check_declared(column, Path(folder))
        if any(cells.read(cell) is not None for cell in numbers):
            check_numeric(numbers, Path(folder))


@settings(max_examples=40)
@given(column=st.lists(CELLS, min_size=1, max_size=20))
def test_a_cell_gives_one_number_everywhere(column, c_reader):
    check(column, c_reader)


@pytest.mark.slow
@pytest.mark.fault
def test_ten_thousand_cells_give_one_number_everywhere(c_reader):
    checked = 0

    @settings(max_examples=1000, database=None)
    @given(st.lists(CELLS, min_size=1, max_size=40))
    def run(column):
        nonlocal checked
        check(column, c_reader)
        checked += len(column)

    while checked < 10_000:
        run()
