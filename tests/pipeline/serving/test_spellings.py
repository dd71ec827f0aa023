"""164 spellings of cells, in a column of each kind: one reading in every format of a served model, or a refusal.

The formats are JSON in its four shapes, CSV, the files of `ldep score`, ONNX, C and the page of `ldep explore`. A page
takes numbers and choices, no spellings: each choice must be the category that is spelled so.
"""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ldep import LDEPClassifier
from ldep.export import to_onnx
from ldep.table import CellError, TableEncoder, cells
from ldep_pipeline.commands import explore
from ldep_pipeline.data.tables import open_table
from ldep_pipeline.server import request_format
from ldep_pipeline.server.request_format import CSV, JSON
from ldep_pipeline.serving.calibration import Calibration
from ldep_pipeline.serving.portable import program
from ldep_pipeline.serving.served_model import ServedModel
from tests.support import c_program


def words(text: str) -> list[str]:
    return text.split()


SPELLINGS = {
    "whole numbers": words("0 -0 +0 00 1 +1 -1 01 001 10 007 42 100 1000 -1000 12345678901234567890"),
    "fractions": words("1. .5 0.5 00.50 +.5 -.5 -0.5 1.0 1.50 2.25 0.1 0.10 3.14159 1.7976931348623157 32.2 -32.20"),
    "exponents": words("1e0 1e3 1E3 1e+3 1e-3 1.e2 .5e1 -2e2 5e-324 1e150 -1e150 1e151 1e308 1e309 -1e400 1e-400"),
    "separators": ["1,5", "1,000", "1.000", "1.234,5", "1,234.5", "1'000", "1 000", "1\u00a0000", "1_000", "1;5"],
    "not quite numbers": words("0x10 1e 1e5.5 --1 +-1 1-2 1/2 1.2.3 .. . e5 1a a1 1k 1k5 ++ - + inf -inf Infinity"),
    "other digits": ["１", "٣", "½", "²", "Ⅳ", "1️⃣", "٠"],
    "percentages": ["32.2%", "32.2 %", " 32.2 % ", "+32.20 %", "3.22e1%", "0%", "-4%", "%", "12 %%", "32,2%", "5 ‰"],
    "units": ["12 kg", "3.5m", "$5", "5€", "12 EUR", "£ 20", "1h"],
    "booleans": words("true True TRUE tRUE false False FALSE yes Yes YES no No y n t f"),
    "missing": ["", " ", *words("? NA N/A n/a na nan NaN NAN null NULL Null None none <NA> #N/A -- unknown missing")],
    "words": [
        *("red", "Red", "RED", " red", "red ", "red wine", "red  wine", "a,b", "a;b", 'say "x"', "it's", "größe"),
        *("gro\u0308ße", "naïve", "ß", "ﬁne", "日本", "🙂", "<b>", "&amp;", "\\n", "null,null", "=1+1", "-red"),
    ],
}
CELLS = [cell for group in SPELLINGS.values() for cell in group]
# What a training column of names has: some of the spellings, and no two that read the same.
KNOWN = ["1", "0.5", "-1", "42", "1e3", "true", "yes", "red", "RED", "red wine", "a,b", 'say "x"', "größe", "日本"]
# Merged spellings, and the category that each is read as.
MERGED = {"Red": "RED", "YES": "yes", "Yes": "yes", "red  wine": "red wine", "gro\u0308ße": "größe", "１": "1"}
COLUMNS = ["name", "number", "rate"]
USUAL = {"name": "red", "number": "1", "rate": "5 %"}


def test_there_are_164_different_spellings():
    assert len(CELLS) == len(set(CELLS)) == 164


@pytest.fixture(scope="module")
def served() -> ServedModel:
    rng = np.random.default_rng(0)
    shares, names = rng.integers(0, 1000, 150) / 10, np.resize(KNOWN, 150)
    frame = pd.DataFrame({"name": names, "number": rng.normal(size=150), "rate": [f"{share} %" for share in shares]})
    percent = {"decimal": ".", "thousands": "", "percent": True}
    recipes = [
        {"name": "name", "kind": "nominal", "indicator": False, "categories": KNOWN, "encoding": "one_hot"}
        | {"merged": MERGED},
        {"name": "number", "kind": "numeric", "indicator": False},
        {"name": "rate", "kind": "numeric", "indicator": False, "spelling": percent},
    ]
    labels = np.where(shares + 20 * (names == "red") > 40, "high", "low")
    model = LDEPClassifier(2, 2, random_state=0)
    steps = [("encode", TableEncoder(recipes, scale=False)), ("scale", StandardScaler()), ("model", model)]
    return ServedModel(Pipeline(steps).fit(frame, labels), Calibration(1.0, (0.0,)))


def reading(served: ServedModel, frame: pd.DataFrame, column: str) -> float | None:
    """What a model reads in the only row, NaN if the cell is missing or unknown; None if it refuses the cell."""
    try:
        (value,) = served.encoder.read_cells(frame)[0][column]
    except CellError as error:
        return None if error.column == column else math.nan
    return float(value)


def frames(row: dict[str, str], folder: Path) -> dict[str, pd.DataFrame]:
    """The row as the server and `ldep score` read it."""
    bodies = {
        "dataframe_records": [row],
        "dataframe_split": {"columns": COLUMNS, "data": [list(row.values())]},
        "instances": [row],
        "inputs": {name: [cell] for name, cell in row.items()},
    }
    found = {
        name: request_format.read(json.dumps({name: body}).encode(), JSON, COLUMNS)[0].frame()
        for name, body in bodies.items()
    }
    text = io.StringIO()
    csv.writer(text).writerows([row.keys(), row.values()])
    found["CSV"] = request_format.read(text.getvalue().encode(), CSV, COLUMNS)[0].frame()
    (folder / "rows.csv").write_text(text.getvalue(), encoding="utf-8")
    pd.DataFrame([row]).to_parquet(folder / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        (piece,) = open_table(folder / name, known=COLUMNS).pieces(COLUMNS, ["number"])
        found[f"ldep score, {name}"] = piece.to_pandas()
    return found


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("group", SPELLINGS)
def test_a_spelling_has_one_reading_in_requests_and_files(served, column, group, tmp_path):
    for cell in SPELLINGS[group]:
        expected = reading(served, pd.DataFrame([USUAL | {column: cell}], dtype=object), column)
        for name, frame in frames(USUAL | {column: cell}, tmp_path).items():
            np.testing.assert_equal(reading(served, frame, column), expected, err_msg=f"{cell!r}, {name}")


def test_merged_spellings_are_read_as_their_category(served):
    for spelling, category in MERGED.items():
        found = [reading(served, pd.DataFrame([USUAL | {"name": cell}]), "name") for cell in (spelling, category)]
        assert found == [KNOWN.index(category)] * 2


@pytest.mark.parametrize(("spelling", "category"), [("Red", "RED"), ("YES", "yes")])
def test_the_nearest_change_of_a_merged_spelling_is_that_of_its_category(served, spelling, category):
    found = [
        served.predict(pd.DataFrame([USUAL | {"name": cell}]), {"output": "counterfactual"})[0]["counterfactual"]
        for cell in (spelling, category)
    ]
    assert found[0]["distance"] == found[1]["distance"]
    assert found[0]["changes"].keys() == found[1]["changes"].keys()


def test_names_have_one_reading_in_onnx(served):
    rows = [USUAL | {"name": cell} for cell in CELLS]
    content = to_onnx(program(served)).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    inputs = {
        "texts": np.array([[cell] for cell in CELLS], dtype=object),
        "numbers": np.tile([[1.0, 0.05]], (len(CELLS), 1)),
    }
    decisions = session.run(["decision"], inputs)[0]
    expected = served.score(served.numbers(pd.DataFrame(rows, dtype=object)))[1]
    np.testing.assert_allclose(decisions, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(c_program.compiler() is None, reason="gcc is missing; .ci/run installs it if it may")
def test_names_and_numbers_have_one_reading_in_c(served, tmp_path):
    """What Python refuses is infinite in C, and has no class."""
    model = program(served)
    frame = pd.DataFrame([[cell, cell, 0.05] for cell in CELLS], columns=[column.name for column in model.columns])
    answers = c_program.answers(c_program.build(model, tmp_path), model, frame)
    for cell, (name, number, _), answer in zip(CELLS, answers["cells"], answers["class"]):
        row = pd.DataFrame([USUAL | {"name": cell, "number": cell}], dtype=object)
        expected = reading(served, row, "number")
        if expected is None:
            assert abs(number) > cells.LARGEST, cell
            assert answer == -1, cell
        else:
            np.testing.assert_equal(number, expected, err_msg=cell)
        np.testing.assert_equal(name, reading(served, row.assign(number=1.0), "name"), err_msg=cell)


def test_each_choice_of_the_page_is_the_category_that_is_spelled_so(served):
    names, number, rate = explore.as_json(program(served), {})["columns"]
    assert names["categories"] == KNOWN
    for code, text in enumerate(names["categories"]):
        row = pd.DataFrame([USUAL | {"name": text}], dtype=object)
        assert reading(served, row, "name") == code
        assert names["numbers"][code] == code
    assert number["categories"] is rate["categories"] is None
    assert rate["name"] == "rate (0.5 is 50 %)"
    assert math.isclose(reading(served, pd.DataFrame([USUAL]), "rate") or 0, 0.05)
