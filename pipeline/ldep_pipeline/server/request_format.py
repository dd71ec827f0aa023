"""The body of a request as rows of raw cells.

The formats are those of MLflow's scoring protocol: JSON with `dataframe_split`, `dataframe_records`, `instances` or
`inputs`, and CSV; and Parquet, which `parquet_process` unpacks. Cells arrive as they were sent: pandas guesses no
types, so a row means the same alone and beside others. The encoder then reads every cell as training did.

Time and memory are proportional to the size of the body, whatever is in it. So only the model's columns are looked up
in the rows, tables are made of some rows at a time, and rows cannot have many more cells than were sent.
"""

from __future__ import annotations

import csv
import gc
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ldep_pipeline.data.tables import LONGEST_LINE
from ldep_pipeline.server.refusals import BadRequest
from ldep_pipeline.serving import counterfactual_answers, prediction_sets

csv.field_size_limit(LONGEST_LINE)  # as in files; the size of a body has a limit of its own
JSON, CSV, PARQUET = "application/json", "text/csv", "application/vnd.apache.parquet"
FORMATS = ("dataframe_split", "dataframe_records", "instances", "inputs")
PARAMS = ("output", "strict", *prediction_sets.DEFAULTS, *counterfactual_answers.DEFAULTS)
NESTED = frozenset((list, dict))
# A row takes three characters or more, so that rows open a bracket in at most a third of a body. Deeply nested lists
# open one in every second character, and would take more than 40 times the memory of the text.
MOST_BRACKETS = 0.4
FEW_CHARACTERS = 10_000  # of a body that may consist of brackets
FEW_CELLS = 100_000  # that rows may have, whatever their size: more are refused if they are mostly left out


@dataclass(frozen=True)
class Rows:
    """The rows of a request, in those of the model's columns that were sent.

    Attributes
    ----------
    count : int
        Their number.
    columns : list of str
        The columns.
    cells : callable
        cells(column, start, stop) returns the cells of some rows in a column.
    """

    count: int
    columns: list[str]
    cells: Callable[[str, int, int], list[Any]]

    def frame(self, start: int = 0, stop: int | None = None) -> pd.DataFrame:
        """Some of the rows as a frame of objects, so that each cell stays what it is."""
        stop = self.count if stop is None else min(stop, self.count)
        columns = {}
        for name in self.columns:
            columns[name] = np.empty(stop - start, dtype=object)
            columns[name][:] = self.cells(name, start, stop)
        return pd.DataFrame(
            columns, index=range(stop - start), columns=pd.Index(self.columns, dtype=object), dtype=object
        )

    def parts(self, count: int) -> Iterator[tuple[int, pd.DataFrame]]:
        """Frames of so many rows at most, each with the number of its first row; one frame if there are no rows."""
        for start in range(0, max(self.count, 1), count):
            yield start, self.frame(start, start + count)


def media_type(content_type: str | None) -> str:
    """The format of a body, by its header; BadRequest if it is none that is read here."""
    kind, _, options = (content_type or "").partition(";")
    kind = kind.strip().lower()
    if kind not in (JSON, CSV, PARQUET):
        message = f"The content type is {content_type or 'missing'}; it must be {JSON}, {CSV} or {PARQUET}."
        raise BadRequest(message, status=415)
    charset = options.strip().lower().removeprefix("charset=").strip('"')
    if charset not in ("", "utf-8", "utf8"):
        raise BadRequest(f"The content type has '{options.strip()}'; only charset=utf-8 is supported.", status=415)
    return kind


def read(body: bytes, kind: str, columns: Sequence[str]) -> tuple[Rows, dict[str, Any]]:
    """The rows of a body in JSON or CSV, in these columns, and its `params`; BadRequest says what is wrong."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadRequest(f"The body is not UTF-8: {error}.") from None
    rows, params = read_json(text, columns) if kind == JSON else (read_csv(text, columns), {})
    if rows.count * len(rows.columns) > max(len(text), FEW_CELLS):
        raise BadRequest(
            f"The body has {rows.count} rows of {len(rows.columns)} columns in {len(text)} characters, so that most "
            "cells are left out; write null for a missing cell.",
            status=413,
        )
    return rows, params


def read_csv(text: str, columns: Sequence[str]) -> Rows:
    """A header line and one line per row. Every cell is text. Blanks around names do not count, as in training."""
    lines = (line for line in csv.reader(io.StringIO(text), skipinitialspace=True, strict=True) if line)
    try:
        names = [name.strip() for name in next(lines, [])]
        if not names:
            raise BadRequest("The body is not a CSV table: it has no header line.")
        places = _places(names, columns)
        cells: dict[str, list[Any]] = {name: [] for name in places}
        appends = [(cells[name].append, place) for name, place in places.items()]
        count = 0
        for line in lines:
            if len(line) != len(names):
                raise BadRequest(f"Row {count} has {len(line)} cells; there are {len(names)} columns.")
            for append, place in appends:
                append(line[place])
            count += 1
    except csv.Error as error:
        raise BadRequest(f"The body is not a CSV table: {error}.") from None
    return Rows(count, list(cells), lambda name, start, stop: cells[name][start:stop])


def read_json(text: str, columns: Sequence[str]) -> tuple[Rows, dict[str, Any]]:
    if len(text) > FEW_CHARACTERS and text.count("[") + text.count("{") > MOST_BRACKETS * len(text):
        raise BadRequest(f"More than {MOST_BRACKETS:.0%} of the body are opening brackets: it is nested too deeply.")
    gc.disable()  # nothing in JSON refers to itself, and looking for it takes several times as long as reading
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BadRequest(f"The body is not JSON: {reason}.") from None
    finally:
        gc.enable()
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
        return _split(data, columns), params
    if formats[0] == "inputs" and isinstance(data, dict):
        return _lists(data, columns), params
    return _records(data, formats[0], columns), params


def _split(data: Any, columns: Sequence[str]) -> Rows:
    lists = [data.get(field) for field in ("columns", "data")] if isinstance(data, dict) else [None]
    if not all(isinstance(value, list) for value in lists):
        raise BadRequest("dataframe_split must be an object with the lists 'columns' and 'data'.")
    names, rows = data["columns"], data["data"]
    places = _places(names, columns)
    for number, row in enumerate(rows):
        if not isinstance(row, list):
            raise BadRequest(f"Row {number} is {_kind(row)}; it must be a list of {len(names)} cells.")
        if len(row) != len(names):
            raise BadRequest(f"Row {number} has {len(row)} cells; there are {len(names)} columns.")
        if not NESTED.isdisjoint(map(type, row)):
            _refuse_nested(number, names, row)
    return Rows(len(rows), list(places), lambda name, start, stop: [row[places[name]] for row in rows[start:stop]])


def _records(data: Any, name: str, columns: Sequence[str]) -> Rows:
    if not isinstance(data, list):
        raise BadRequest(f"{name} is {_kind(data)}; it must be a list of rows, each an object by column.")
    absent = set(columns)
    for number, row in enumerate(data):
        if not isinstance(row, dict):
            raise BadRequest(f"{name}, row {number} is {_kind(row)}; it must be an object by column.")
        if not NESTED.isdisjoint(map(type, row.values())):
            _refuse_nested(number, row, row.values())
        if absent:
            absent.difference_update(row)
    sent = [column for column in columns if column not in absent]
    return Rows(len(data), sent, lambda column, start, stop: [row.get(column) for row in data[start:stop]])


def _lists(data: dict[str, Any], columns: Sequence[str]) -> Rows:
    """Lists by column; or one row, if each column has a single cell."""
    lists = {name: data[name] if isinstance(data[name], list) else [data[name]] for name in columns if name in data}
    counts = set()
    for column, cells in data.items():
        cells = cells if isinstance(cells, list) else [cells]
        counts.add(len(cells))
        if len(counts) > 1:
            raise BadRequest(
                f"inputs has columns of different lengths: {sorted(counts)} cells, in '{column}' and before."
            )
        if not NESTED.isdisjoint(map(type, cells)):
            number = next(number for number, cell in enumerate(cells) if type(cell) in NESTED)
            _refuse_nested(number, [column], [cells[number]])
    count = next(iter(counts), 0)
    return Rows(count, list(lists), lambda column, start, stop: lists[column][start:stop])


def _places(names: Sequence[Any], columns: Sequence[str]) -> dict[str, int]:
    """The position of each of the model's columns among those that were sent."""
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        if not isinstance(name, str):
            raise BadRequest(f"A column's name is {_kind(name)}; it must be a string.")
        if name in places:
            raise BadRequest(f"The column '{name}' appears twice.")
        places[name] = place
    return {name: places[name] for name in columns if name in places}


def _refuse_nested(number: int, names: Any, row: Any) -> None:
    name, cell = next((name, cell) for name, cell in zip(names, row) if type(cell) in NESTED)
    raise BadRequest(f"Row {number}, column '{name}': the cell is {_kind(cell)}, not a single value.")


def _kind(value: Any) -> str:
    """The JSON type of a value, with its article."""
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")
