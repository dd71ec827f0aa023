"""Bodies of requests in thirty shapes and of any size: what a client could send to cost the server more than itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.malformed import COLUMNS, CSV, JSON

ROW = '{"width": 0.5, "größe (cm)": 1, "grade": "2", "colour": "red"}'
CELLS = '[0.5, 1, "2", "red"]'
HEAD = ",".join(COLUMNS)
NAMES = json.dumps(COLUMNS, ensure_ascii=False)
Make = Callable[[int], str]


def _filled(head: str, unit: str, tail: str) -> Make:
    return lambda size: head + unit * max(1, (size - len(head) - len(tail)) // len(unit)) + tail


def _numbered(head: str, unit: Callable[[int], str], tail: str) -> Make:
    """Units that are all different."""
    return lambda size: head + "".join(map(unit, range(size // len(unit(10**5))))) + tail


def _records(unit: str, last: str = ROW) -> Make:
    return _filled('{"dataframe_records": [', f"{unit}, ", f"{last}]}}")


def _compact(unit: str, last: str = ROW) -> Make:
    return _filled('{"instances":[', f"{unit},", f"{last}]}}")


def _split(unit: str, last: str = CELLS) -> Make:
    return _filled(f'{{"dataframe_split": {{"columns": {NAMES}, "data": [', f"{unit},", f"{last}]}}}}")


def _csv(unit: str) -> Make:
    return _filled(f"{HEAD}\n", f"{unit}\n", "")


SHAPES: dict[str, tuple[Make, str]] = {
    "rows": (_records(ROW), JSON),
    "rows, split": (_split(CELLS), JSON),
    "rows, short": (_split('[0,1,"2",""]'), JSON),
    "rows, csv": (_csv("0.5,1,2,red"), CSV),
    "rows, csv, empty cells": (_csv(",,,"), CSV),
    "rows, csv, too short": (_csv("1"), CSV),
    "rows, csv, blank lines": (_csv(""), CSV),
    "a key of its own in each row": (
        _numbered('{"dataframe_records": [', lambda n: f'{{"k{n}": 1}}, ', f"{ROW}]}}"),
        JSON,
    ),
    "two keys of its own in each row": (
        _numbered('{"instances": [', lambda n: f'{{"a{n}": 1, "b{n}": 2}}, ', f"{ROW}]}}"),
        JSON,
    ),
    "many keys in one row": (_numbered('{"inputs": [{', lambda n: f'"{n}": 0, ', f'"a": 1}}, {ROW}]}}'), JSON),
    "many columns of one cell": (_numbered('{"inputs": {', lambda n: f'"{n}": 0, ', '"a": 1}}'), JSON),
    "many columns of lists": (_numbered('{"inputs": {', lambda n: f'"{n}": [0], ', '"a": [1]}}'), JSON),
    "many names, no rows": (
        _numbered('{"dataframe_split": {"columns": [', lambda n: f'"{n}", ', '"a"], "data": []}}'),
        JSON,
    ),
    "many names in a csv header": (_numbered("", lambda n: f"{n},", "a\n"), CSV),
    "empty rows": (_compact("{}"), JSON),
    "empty rows, split": (_split("[]"), JSON),
    "rows of one cell": (_compact('{"grade":1}'), JSON),
    "rows of a foreign cell": (_compact('{"x":1}'), JSON),
    "rows of a nested cell": (_compact('{"x":[]}'), JSON),
    "numbers for rows": (_compact("1"), JSON),
    "nested twice": (_compact("[[]]"), JSON),
    "nested six times": (_compact("[[[[[[]]]]]]"), JSON),
    "nested objects": (_compact('{"":{"":{}}}'), JSON),
    "brackets": (_filled('{"instances": ', "[", ""), JSON),
    "a list in params": (_filled('{"inputs": {}, "params": {"frozen": [', '"x",', '""]}}'), JSON),
    "another field": (_filled('{"more": [', "{},", f'1], "instances": [{ROW}]}}'), JSON),
    "one long cell": (_filled(f'{{"instances": [{ROW[:-2]}', "x", '"}]}'), JSON),
    "one long number": (_filled('{"inputs": {"width": 0.', "1", "}}"), JSON),
    "a wide letter among narrow ones": (_filled('{"inputs": {"colour": ["🜚",', '"ab",', '"red"]}}'), JSON),
    "blanks": (_filled("", " ", "{}"), JSON),
}


def body(shape: str, size: int) -> tuple[bytes, str]:
    """A body of about so many bytes, and its content type."""
    make, kind = SHAPES[shape]
    return make(size).encode(), kind


def params(rows: int = 1, **values: Any) -> bytes:
    """A good request about so many rows with these parameters."""
    return json.dumps({"dataframe_records": rows * [json.loads(ROW)], "params": values}).encode()
