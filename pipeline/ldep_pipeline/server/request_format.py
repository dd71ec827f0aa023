"""The body of a request as a table of raw cells.

The formats are those of MLflow's scoring protocol: JSON with `dataframe_split`, `dataframe_records`, `instances` or
`inputs`, and CSV. Cells arrive as they were sent: pandas guesses no types, so a row means the same alone and beside
others. The encoder then reads every cell as training did.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pandas as pd

from ldep_pipeline.serving import counterfactual_answers

JSON, CSV = "application/json", "text/csv"
FORMATS = ("dataframe_split", "dataframe_records", "instances", "inputs")
PARAMS = ("output", "strict", *counterfactual_answers.DEFAULTS)


class BadRequest(ValueError):
    """The request is wrong; `status` is the HTTP status of the answer."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def read(body: bytes, content_type: str | None) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The rows of a request, and its `params`; BadRequest says what is wrong."""
    kind, _, options = (content_type or "").partition(";")
    kind = kind.strip().lower()
    if kind not in (JSON, CSV):
        raise BadRequest(f"The content type is {content_type or 'missing'}; it must be {JSON} or {CSV}.", status=415)
    charset = options.strip().lower().removeprefix("charset=").strip('"')
    if charset not in ("", "utf-8", "utf8"):
        raise BadRequest(f"The content type has '{options.strip()}'; only charset=utf-8 is supported.", status=415)
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadRequest(f"The body is not UTF-8: {error}.") from None
    return read_json(text) if kind == JSON else (read_csv(text), {})


def read_csv(text: str) -> pd.DataFrame:
    """A header line and one line per row. Every cell is text. Blanks around names do not count, as in training."""
    try:
        lines = [line for line in csv.reader(io.StringIO(text), skipinitialspace=True, strict=True) if line]
    except csv.Error as error:
        raise BadRequest(f"The body is not a CSV table: {error}.") from None
    if not lines:
        raise BadRequest("The body is not a CSV table: it has no header line.")
    return table([name.strip() for name in lines[0]], lines[1:])


def read_json(text: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BadRequest(f"The body is not JSON: {reason}.") from None
    if not isinstance(content, dict):
        raise BadRequest(
            f"The body is {_kind(content)} in JSON; it must be an object with one of {', '.join(FORMATS)}."
        )
    formats = [name for name in FORMATS if name in content]
    if len(formats) != 1:
        fields = ", ".join(sorted(content)[:5]) or "no field"
        raise BadRequest(f"The body has {fields}; it must have exactly one of {', '.join(FORMATS)}.")
    params = content.get("params")
    if params is None:
        params = {}
    if not isinstance(params, dict):
        raise BadRequest(f"params is {_kind(params)}; it must be an object, such as {{'output': 'full'}}.")
    unknown = sorted(set(params) - set(PARAMS))
    if unknown:
        raise BadRequest(f"params has the unknown key '{unknown[0]}'; it takes {', '.join(map(repr, PARAMS))}.")
    data = content[formats[0]]
    if formats[0] == "dataframe_split":
        return _split(data), params
    if formats[0] == "inputs" and isinstance(data, dict):
        return _columns(data), params
    return _records(data, formats[0]), params


def _split(data: Any) -> pd.DataFrame:
    lists = [data.get(field) for field in ("columns", "data")] if isinstance(data, dict) else [None]
    if not all(isinstance(value, list) for value in lists):
        raise BadRequest("dataframe_split must be an object with the lists 'columns' and 'data'.")
    return table(data["columns"], data["data"])


def _records(data: Any, name: str) -> pd.DataFrame:
    if not isinstance(data, list):
        raise BadRequest(f"{name} is {_kind(data)}; it must be a list of rows, each an object by column.")
    columns: dict[str, None] = {}
    for number, row in enumerate(data):
        if not isinstance(row, dict):
            raise BadRequest(f"{name}, row {number} is {_kind(row)}; it must be an object by column.")
        columns.update(dict.fromkeys(row))
    return table(list(columns), [[row.get(column) for column in columns] for row in data])


def _columns(data: dict[str, Any]) -> pd.DataFrame:
    """Lists by column; or one row, if each column has a single cell."""
    lists = {column: cells if isinstance(cells, list) else [cells] for column, cells in data.items()}
    lengths = {column: len(cells) for column, cells in lists.items()}
    if len(set(lengths.values())) > 1:
        raise BadRequest(f"inputs has columns of different lengths: {dict(list(lengths.items())[:5])}.")
    return table(list(lists), list(map(list, zip(*lists.values()))))


def table(columns: list[Any], rows: list[Any]) -> pd.DataFrame:
    """The rows as a frame of objects, so that each cell stays what it is."""
    names: set[str] = set()
    for column in columns:
        if not isinstance(column, str):
            raise BadRequest(f"A column's name is {_kind(column)}; it must be a string.")
        if column in names:
            raise BadRequest(f"The column '{column}' appears twice.")
        names.add(column)
    for number, row in enumerate(rows):
        if not isinstance(row, list):
            raise BadRequest(f"Row {number} is {_kind(row)}; it must be a list of {len(columns)} cells.")
        if len(row) != len(columns):
            raise BadRequest(f"Row {number} has {len(row)} cells; there are {len(columns)} columns.")
        for column, cell in zip(columns, row):
            if isinstance(cell, (list, dict)):
                raise BadRequest(f"Row {number}, column '{column}': the cell is {_kind(cell)}, not a single value.")
    return pd.DataFrame(rows, columns=pd.Index(columns, dtype=object), dtype=object)


def _kind(value: Any) -> str:
    """The JSON type of a value, with its article."""
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")
