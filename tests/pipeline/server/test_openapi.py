"""The OpenAPI document: whole, with the columns of the model and an example that is a real row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from ldep_pipeline.server import openapi, request_format
from ldep_pipeline.server.settings import Settings
from ldep_pipeline.serving.served_model import ServedModel
from ldep_pipeline.serving.training_profile import choose_example
from tests.support import registered
from tests.support.encoders import encoder_for

TYPES = {"number": (int, float), "string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}


def accepts(schema: dict[str, Any], value: Any) -> bool:
    """Whether a value fits the part of JSON Schema that the document uses."""
    if "enum" in schema:
        return value in schema["enum"]
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, TYPES[name]) for name in types):
        return False
    return not isinstance(value, dict) or (
        set(schema["required"]) <= set(value)
        and all(accepts(schema["properties"][name], cell) for name, cell in value.items())
    )


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rows = registered.rows(90)
    rows.insert(0, "day", pd.date_range("2024-01-01", periods=90).strftime("%d.%m.%Y"))
    rows.insert(0, "price", [f"{number % 7},50 %" for number in range(90)])
    return rows.astype({"price": "category", "day": "category", "grade": "category", "colour": "category"})


@pytest.fixture(scope="module")
def pipe(frame: pd.DataFrame) -> Pipeline:
    steps = [("encode", encoder_for(frame.drop(columns="sold"))), ("model", LogisticRegression())]
    return Pipeline(steps).fit(frame.drop(columns="sold"), frame["sold"].to_numpy(dtype=str))


def test_the_schema_of_a_row_accepts_raw_rows_and_refuses_other_types(frame, pipe):
    served = ServedModel(pipe, None)
    example = choose_example(pipe, frame, frame["sold"].to_numpy(dtype=str))
    document = openapi.describe(served, example, "1", Settings(Path()))
    schema = document["components"]["schemas"]["Row"]
    rows = frame.drop(columns="sold").astype(object)
    for row in [example, *rows.where(rows.notna(), None).to_dict(orient="records")]:
        assert accepts(schema, row), row
    assert not accepts(schema, {**example, "width": "wide"})
    assert not accepts(schema, {**example, "colour": "violet"})
    assert not accepts(schema, {"width": 1.0})


def test_every_parameter_of_a_request_is_described(pipe):
    params = openapi.describe(ServedModel(pipe, None), {}, None, Settings(Path()))["components"]["schemas"]["Params"]
    assert set(params["properties"]) == set(request_format.PARAMS)


def test_every_reference_leads_to_a_schema(frame, pipe):
    document = openapi.describe(ServedModel(pipe, None), {}, None, Settings(Path()))
    references = []

    def visit(node: object) -> None:
        if isinstance(node, dict):
            references.extend([node["$ref"]] if "$ref" in node else [])
            for value in node.values():
                visit(value)
        elif isinstance(node, list):
            for value in node:
                visit(value)

    visit(document)
    assert references
    schemas = document["components"]["schemas"]
    assert {reference.removeprefix("#/components/schemas/") for reference in references} <= set(schemas)


def test_the_example_is_a_real_row_without_gaps_that_the_model_gets_right(frame, pipe):
    y = frame["sold"].to_numpy(dtype=str)
    example = choose_example(pipe, frame, y)
    rows = frame.drop(columns="sold").astype(object)
    position = rows.where(rows.notna(), None).to_dict(orient="records").index(example)
    assert None not in example.values()
    assert pipe.predict(frame.iloc[[position]])[0] == y[position]


def test_an_example_is_found_even_if_every_row_has_gaps_and_the_model_is_always_wrong(frame, pipe):
    gaps = frame.assign(width=float("nan"))
    example = choose_example(pipe, gaps, pd.Series("nothing", index=gaps.index).to_numpy())
    assert example["width"] is None
    assert example["colour"] in ("red", "green", "blue")
