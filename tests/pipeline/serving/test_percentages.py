"""A column of percentages has one reading in every format: `32.2 %` is 0.322. A number without the sign is refused."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ldep import LDEPClassifier
from ldep.table import TableEncoder
from ldep.table._spelling import Spelling
from ldep_pipeline.commands import explore
from ldep_pipeline.data.tables import open_table
from ldep_pipeline.server import openapi, request_format
from ldep_pipeline.server.request_format import CSV, JSON
from ldep_pipeline.server.settings import Settings
from ldep_pipeline.serving import portable
from ldep_pipeline.serving.served_model import ServedModel

READ = {
    "32.2%": 0.322,
    "32.2 %": 0.322,
    " 32.2 % ": 0.322,
    "+32.20 %": 0.322,
    "3.22e1%": 0.322,
    "0.5%": 0.005,
    "-4%": -0.04,
    "0%": 0.0,
    "": np.nan,
    "NA": np.nan,
    None: np.nan,
}
REFUSED = ["32.2", "0.322", "32", 32.2, 0.322, 32, 0, True, "32,2%", "%", "32.2 % %", "32.2 ‰", "32.2 percent", "TRUE"]


@pytest.fixture(scope="module")
def served() -> ServedModel:
    rng = np.random.default_rng(0)
    shares = rng.integers(0, 1000, 60) / 10
    frame = pd.DataFrame({"rate": [f"{share} %" for share in shares], "size": rng.normal(size=60)})
    recipes = [
        {"name": "rate", "kind": "numeric", "indicator": False, "spelling": Spelling(".", "", True).to_json()},
        {"name": "size", "kind": "numeric", "indicator": False},
    ]
    steps = [
        ("encode", TableEncoder(recipes, scale=False)),
        ("scale", StandardScaler()),
        ("model", LDEPClassifier(2, 2, random_state=0)),
    ]
    return ServedModel(Pipeline(steps).fit(frame, np.where(shares > 40, "high", "low")), None)


def frames(cell: object, folder: Path) -> dict[str, pd.DataFrame]:
    """A row with this cell in each format that has such a cell."""
    row, columns = {"rate": cell, "size": 1}, ["rate", "size"]
    bodies = {
        "dataframe_records": [row],
        "dataframe_split": {"columns": columns, "data": [[cell, 1]]},
        "instances": [row],
        "inputs": {"rate": [cell], "size": [1]},
    }
    found = {
        name: request_format.read(json.dumps({name: body}).encode(), JSON, columns)[0].frame()
        for name, body in bodies.items()
    }
    found["pandas"] = pd.DataFrame([row])
    if cell is None or isinstance(cell, str):
        text = io.StringIO()
        csv.writer(text).writerows([columns, ["" if cell is None else cell, "1"]])
        found["CSV"] = request_format.read(text.getvalue().encode(), CSV, columns)[0].frame()
        (folder / "rows.csv").write_text(text.getvalue(), encoding="utf-8")
        (piece,) = open_table(folder / "rows.csv", known=columns).pieces(columns, ["size"])
        found["ldep score, CSV"] = piece.to_pandas()
    found["pandas"].to_parquet(folder / "rows.parquet")
    (piece,) = open_table(folder / "rows.parquet").pieces(columns, ["size"])
    found["ldep score, Parquet"] = piece.to_pandas()
    return found


@pytest.mark.parametrize("cell", READ)
def test_a_percentage_has_one_reading_in_every_format(served, cell, tmp_path):
    for name, frame in frames(cell, tmp_path).items():
        np.testing.assert_array_equal(served.encoder.read_cells(frame)[0]["rate"], [READ[cell]], err_msg=name)


@pytest.mark.parametrize("cell", REFUSED)
def test_what_is_no_percentage_is_refused_in_every_format(served, cell, tmp_path):
    """A JSON number was taken as it is: 32.2 as 3220 %."""
    for frame in frames(cell, tmp_path).values():
        with pytest.raises(ValueError, match=r"row 0, column 'rate': .* is not a number written like 1234\.5 %"):
            served.predict(frame)


@pytest.mark.parametrize("decimal", [".", ","])
def test_a_number_is_written_as_the_percentage_that_is_read_as_it(decimal):
    spelling = Spelling(decimal, "", True)
    for number in np.random.default_rng(0).normal(size=280) * 10.0 ** np.arange(-140, 140):
        assert spelling.read(spelling.write(number)) == number
    assert spelling.write(0.322) == f"32{decimal}2 %"


def test_the_nearest_change_is_a_percentage_that_can_be_sent(served):
    rows = pd.DataFrame([{"rate": "32.2 %", "size": 0.5}])
    (answer,) = served.predict(rows, {"output": "counterfactual", "frozen": ["size"]})
    change = answer["counterfactual"]["changes"]["rate"]
    assert change["from"] == "32.2 %"
    assert change["to"].endswith(" %")
    assert served.predict(rows.assign(rate=change["to"])) == ["high"] != served.predict(rows)


def test_the_example_and_the_schema_have_percentages(served):
    example = served.encoder.typical_row()
    assert example["rate"].endswith(" %")
    served.predict(pd.DataFrame([example]))
    schemas = openapi.describe(served, example, None, Settings(Path()))["components"]["schemas"]
    row = schemas["Row"]["properties"]["rate"]
    assert row == {"type": ["string", "null"], "description": "A percentage, such as 1234.5 %."}


def test_exported_models_say_that_the_number_is_a_share(served):
    """ONNX, C and the page take numbers: whoever looks for the old name finds none."""
    program = portable.program(served)
    assert [column.name for column in program.columns] == ["rate (0.5 is 50 %)", "size"]
    assert "rate (0.5 is 50 %)" in explore.page(program, "rates")
