"""Equal numbers that a file declares as different categories stay apart, wherever a model answers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ldep import LDEPClassifier
from ldep.export import to_onnx
from ldep_pipeline.commands import score
from ldep_pipeline.data.frames import read_frame
from ldep_pipeline.data.tables import open_table
from ldep_pipeline.server import request_format
from ldep_pipeline.server.request_format import CSV, JSON
from ldep_pipeline.serving.calibration import Calibration
from ldep_pipeline.serving.portable import program
from ldep_pipeline.serving.served_model import ServedModel
from tests.support import c_program
from tests.support.encoders import encoder_for

# One column declares equal numbers apart, as a column of Cylinder Bands does, and the other declares some of them once.
HEADER = """\
@relation bands
@attribute caliper {.200, 0.2, 0.200, 0.30, 0.300, thick}
@attribute depth {0.200, 0.3}
@attribute label {no, yes}
@data
"""
CALIPERS = [".200", "0.2", "0.200", "0.30", "0.300", "thick"]
# Cells as a client may write them, with the codes of both columns.
CODES = {
    ".200": (0, 0),
    "0.2": (1, 0),
    " 0.200 ": (2, 0),
    "+.2": (1, 0),  # not declared: as the number 0.2
    "0.30": (3, 1),
    "0.300": (4, 1),
    "0.3": (3, 1),  # only the other column declares it
    "thick": (5, np.nan),
    "2": (np.nan, np.nan),
    "?": (np.nan, np.nan),
}
ROWS = [[cell, cell] for cell in CODES]
EXPECTED = np.array(list(CODES.values()))


@pytest.fixture(scope="module", params=[None, "one_hot"], ids=["ordinal", "one_hot"])
def served(request, tmp_path_factory) -> ServedModel:
    """A model of which each spelling of the caliper changes the decision value."""
    path = tmp_path_factory.mktemp("bands") / "bands.arff"
    lines = [f"{CALIPERS[k % 6]},{('0.200', '0.3')[k % 4 // 2]},{('no', 'yes')[k % 6 in (1, 2)]}" for k in range(120)]
    path.write_text(HEADER + "\n".join(lines))
    frame = read_frame(path, "label")
    assert frame["caliper"].cat.codes.tolist() == [k % 6 for k in range(120)]
    model = LDEPClassifier(3, 3, alpha=0.01, random_state=0)
    steps = [("encode", encoder_for(frame.iloc[:, :2], request.param)), ("scale", StandardScaler()), ("model", model)]
    return ServedModel(Pipeline(steps).fit(frame.iloc[:, :2], frame["label"].astype(str)), Calibration(1.0, (0.0,)))


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=["caliper", "depth"], dtype=object)


@pytest.fixture(scope="module")
def decisions(served, frame) -> np.ndarray:
    """What the model answers to the rows; the spellings that training has seen have different answers."""
    values = served.score(served.numbers(frame))[1]
    assert values is not None
    assert len(set(values[[0, 1, 2]])) == 3
    return values


def codes(served: ServedModel, rows: pd.DataFrame) -> np.ndarray:
    return np.column_stack(list(served.encoder.read_cells(rows)[0].values()))


def as_csv(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([["caliper", "depth"], *rows])
    return text.getvalue()


def test_requests(served, frame):
    records = [dict(zip(frame.columns, row)) for row in ROWS]
    sent = request_format.read(json.dumps({"dataframe_records": records}).encode(), JSON, ["caliper", "depth"])[
        0
    ].frame()
    np.testing.assert_array_equal(codes(served, sent), EXPECTED)
    np.testing.assert_array_equal(
        codes(served, request_format.read(as_csv(ROWS).encode(), CSV, ["caliper", "depth"])[0].frame()), EXPECTED
    )


@pytest.mark.parametrize(("number", "caliper"), [("0.2", "0.2"), ("0.20", "0.2"), ("2e-1", "0.2"), ("0.3", "0.30")])
def test_a_number_in_json_is_the_category_that_is_written_like_it_or_the_first_of_its_value(served, number, caliper):
    body = f'{{"dataframe_records": [{{"caliper": {number}, "depth": {number}}}]}}'
    sent = request_format.read(body.encode(), JSON, ["caliper", "depth"])[0].frame()
    assert codes(served, sent)[0, 0] == CALIPERS.index(caliper)


def write_csv(path: Path) -> Path:
    path.with_suffix(".csv").write_text(as_csv(ROWS))
    return path.with_suffix(".csv")


def write_text(path: Path) -> Path:
    columns = {name: pa.array(list(CODES)) for name in ("caliper", "depth")}
    pyarrow.parquet.write_table(pa.table(columns), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def write_dictionaries(path: Path) -> Path:
    columns = {name: pa.array(list(CODES)).dictionary_encode() for name in ("caliper", "depth")}
    pyarrow.parquet.write_table(pa.table(columns), path.with_suffix(".parquet"), row_group_size=3)
    return path.with_suffix(".parquet")


def write_arff(path: Path) -> Path:
    """Declared in another order than in training."""
    declared = ", ".join(f"'{cell}'" for cell in reversed(CODES) if cell != "?")
    header = f"@relation r\n@attribute caliper {{{declared}}}\n@attribute depth {{{declared}}}\n@data\n"
    rows = [",".join("?" if cell == "?" else f"'{cell}'" for cell in row) for row in ROWS]
    path.with_suffix(".arff").write_text(header + "\n".join(rows) + "\n")
    return path.with_suffix(".arff")


@pytest.mark.parametrize("write", [write_csv, write_text, write_dictionaries, write_arff])
def test_scored_files(served, decisions, write, tmp_path):
    pieces = list(open_table(write(tmp_path / "rows")).pieces(served.encoder.columns_, served.encoder.numeric_columns))
    np.testing.assert_array_equal(np.vstack([codes(served, piece.to_pandas()) for piece in pieces]), EXPECTED)
    answers = pa.concat_tables([score.table(served, piece, explain=False)[0].select(["decision"]) for piece in pieces])
    np.testing.assert_array_equal(answers["decision"], decisions)


def test_onnx(served, frame, decisions):
    content = to_onnx(program(served)).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    answers = session.run(["decision"], {"texts": frame.to_numpy(dtype=object)})[0]
    np.testing.assert_allclose(answers, decisions, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(c_program.compiler() is None, reason="gcc is missing; .ci/run installs it if it may")
def test_c(served, frame, decisions, tmp_path):
    model = program(served)
    answers = c_program.answers(c_program.build(model, tmp_path), model, frame)
    np.testing.assert_array_equal(answers["cells"], EXPECTED)
    np.testing.assert_allclose(answers["decision"], decisions, rtol=1e-12, atol=1e-12)


def test_a_nearest_change_names_the_spelling_that_was_sent(served):
    row = pd.DataFrame({"caliper": [".200"], "depth": ["0.200"]}, dtype=object)
    (answer,) = served.predict(row, {"output": "counterfactual", "frozen": ["depth"]})
    change = answer["counterfactual"]["changes"]["caliper"]
    assert change["from"] == ".200"
    assert change["to"] in CALIPERS
    assert served.predict(row.assign(caliper=change["to"])) == [answer["counterfactual"]["class"]] != [answer["class"]]
