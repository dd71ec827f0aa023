"""Requests that something is wrong with, or at least odd: the same thousand each time."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = ["width", "größe (cm)", "grade", "colour"]
JSON, CSV, PARQUET = "application/json", "text/csv", "application/vnd.apache.parquet"
FORMATS = ("dataframe_records", "dataframe_split", "instances", "inputs")
ODD: list[Any] = [
    None,
    True,
    "",
    "?",
    "red",
    "41",
    "4x",
    "NaN",
    float("nan"),
    float("inf"),
    float("-inf"),
    1e308,
    -1e308,
    1e-320,
    10**400,
    2**70,
    -0.0,
    [],
    [1, 2],
    [[1], [2, 3]],
    {},
    {"a": {"b": 1}},
    "\u0000",
    "\ud800",
    "🜚" * 50,
    "é\u0301",
    "x" * 5000,
    "'; DROP TABLE rows; --",
    "__import__('os')",
]
TYPES = [
    "",
    "text/plain",
    "application/xml",
    "image/png",
    "application/json; charset=latin-1",
    "text/csv; header=no",
    ";;;",
    "application/json; charset=",
    "multipart/form-data; boundary=x",
    "application/vnd.apache.parquet",
    "JSON",
    "\u00e9",
]
Request = tuple[bytes, str | None]


def requests(count: int = 1000, seed: int = 0) -> Iterator[Request]:
    """Bodies with their content types. The large ones come first, so that memory has grown when it is first read."""
    rng = random.Random(seed)
    large = [_large_numbers, _large_text, _large_csv, _large_nesting, _large_column, _large_binary]
    kinds = [_cells, _cells, _shape, _columns, _json, _json, _csv, _content_type, _params, _binary, _parquet]
    makers: list[Callable[[random.Random], Request]] = large + [
        kinds[n % len(kinds)] for n in range(count - len(large))
    ]
    for make in makers:
        yield make(rng)


def _row(rng: random.Random) -> dict[str, Any]:
    return {"width": rng.gauss(0, 1), "größe (cm)": rng.randint(-2, 2), "grade": rng.choice("123"), "colour": "red"}


def _body(rows: list[dict[str, Any]], form: str) -> dict[str, Any]:
    if form == "dataframe_split":
        names = list(rows[0]) if rows else []
        return {form: {"columns": names, "data": [list(row.values()) for row in rows]}}
    if form == "inputs":
        return {form: {name: [row.get(name) for row in rows] for name in (rows[0] if rows else {})}}
    return {form: rows}


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()


def _cells(rng: random.Random) -> Request:
    """Odd values in some cells."""
    rows = [_row(rng) for _ in range(rng.randint(1, 4))]
    for _ in range(rng.randint(1, 4)):
        rng.choice(rows)[rng.choice(COLUMNS)] = rng.choice(ODD)
    return _dump(_body(rows, rng.choice(FORMATS))), JSON


def _columns(rng: random.Random) -> Request:
    """Missing, extra, renamed, repeated and reordered columns."""
    row = _row(rng)
    what = rng.randrange(5)
    if what == 0:
        del row[rng.choice(COLUMNS)]
    elif what == 1:
        row[rng.choice(["more", "", "WIDTH", "\u0000", "x" * 1000])] = rng.choice(ODD)
    elif what == 2:
        row = {name.upper(): value for name, value in row.items()}
    elif what == 3:
        names = [rng.choice(COLUMNS) for _ in range(5)]
        return _dump({"dataframe_split": {"columns": names, "data": [[1, 2, "3", "red", 5]]}}), JSON
    else:
        names = rng.sample(COLUMNS, 4)
        row = {name: row[name] for name in names}
    return _dump(_body([row], rng.choice(FORMATS))), JSON


def _shape(rng: random.Random) -> Request:
    """Not a table."""
    odd = rng.choice(ODD)
    bodies: list[Any] = [
        {rng.choice(FORMATS): odd},
        {rng.choice(FORMATS): [odd, odd]},
        {rng.choice(FORMATS): []},
        {rng.choice(FORMATS): {}},
        {form: [_row(rng)] for form in FORMATS},
        {"instances": [_row(rng), odd]},
        {"instances": [[1, 2, 3, 4], [1, 2]]},
        {"inputs": {"width": [1, 2], "größe (cm)": [1], "grade": [], "colour": odd}},
        {"dataframe_split": {"columns": COLUMNS, "data": [[1, 2]]}},
        {"dataframe_split": {"columns": odd, "data": odd, "index": odd}},
        {"dataframe_split": {"columns": [odd] * 4, "data": [[1, 2, 3, 4]]}},
        {"dataframe_split": {"columns": [{"a": 1}, *COLUMNS[1:]], "data": [[1, 2, "3", "red"]]}},
        {"dataframe_split": {"columns": COLUMNS, "data": [[1, 2, "3", "red"]], "index": [[1], [2]]}},
        {"dataframe_split": {"columns": COLUMNS, "data": [], "more": 1}},
        {"messages": [{"role": "user", "content": odd}]},
        {"input": odd},
        odd,
    ]
    return _dump(rng.choice(bodies)), JSON


def _json(rng: random.Random) -> Request:
    """JSON that is cut off, changed in a byte, or never was any."""
    good = _dump(_body([_row(rng)], rng.choice(FORMATS)))
    what = rng.randrange(5)
    if what == 0:
        return good[: rng.randrange(len(good))], JSON
    if what == 1:
        broken = bytearray(good)
        broken[rng.randrange(len(broken))] = rng.randrange(256)
        return bytes(broken), JSON
    if what == 2:
        return b"[" * rng.choice([10, 500, 20_000]), JSON
    if what == 3:
        digits = b"1" * rng.choice([30, 400, 5000])
        return good.replace(b'"red"', digits).replace(b'"1"', digits), JSON
    return rng.choice([b"", b" ", b"null", b"{}", b"\xff\xfe", b"{'a': 1}", good + good, b"\xef\xbb\xbf" + good]), JSON


def _csv(rng: random.Random) -> Request:
    head = ",".join(COLUMNS)
    line = f"{rng.gauss(0, 1)},1,2,red"
    bodies = [
        "",
        "\n",
        head,
        f"{head}\n",
        f"{head}\n{line},7,8,9\n{line}",
        f"{head}\n1,2",
        f"{line}\n{line}",
        f"{head}\n\x00,1,2,red",
        f"{head}\n{rng.choice(['inf', '1e308', '1e999', '4x', '?', '🜚'])},1,2,red",
        f'{head}\n"1,1,2,red',
        f"{head}\n{line}\n{line},{line},{line}",
        head.replace(",", ";") + "\n1;2;3;red",
        f"{head},{head}\n{line},{line}",
    ]
    content = rng.choice(bodies).encode()
    return (content if rng.random() < 0.8 else content + b"\xff\xfe"), CSV


def _content_type(rng: random.Random) -> Request:
    kind = rng.choice([None, *TYPES])
    body = _dump(_body([_row(rng)], rng.choice(FORMATS)))
    return body, kind


def _params(rng: random.Random) -> Request:
    body = _body([_row(rng)], rng.choice(FORMATS))
    odd = rng.choice(ODD)
    params = [odd, {"output": odd}, {"strict": odd}, {"output": "full", "more": odd}, [odd], {"": odd}]
    body["params"] = rng.choice(params)
    return _dump(body), JSON


def _binary(rng: random.Random) -> Request:
    return rng.randbytes(rng.randrange(2000)), rng.choice([JSON, CSV, PARQUET])


def _parquet(rng: random.Random) -> Request:
    """A table in Parquet, often damaged, with other types, or of columns that are none of the model's."""
    odd = [[[1]], [{"a": 1}], ["4x"], [b"\xff"], [1e308], ["red"], [True], ["x" * 5000]]
    cells: dict[str, Any] = {name: rng.choice([*odd, [1], [None]]) for name in COLUMNS}
    if rng.random() < 0.2:
        cells.pop(rng.choice(COLUMNS))
    sink = io.BytesIO()
    pq.write_table(pa.table(cells), sink)
    body = bytearray(sink.getvalue())
    for _ in range(rng.choice([0, 0, 1, 3])):
        body[rng.randrange(len(body))] = rng.randrange(256)
    return bytes(body[: rng.choice([len(body), len(body), rng.randrange(len(body))])]), PARQUET


def _large_numbers(rng: random.Random) -> Request:
    return _dump(_body([_row(rng)] * 120_000, "dataframe_split")), JSON


def _large_text(rng: random.Random) -> Request:
    return _dump(_body([{**_row(rng), "colour": "x" * 10_000_000}], "dataframe_records")), JSON


def _large_csv(rng: random.Random) -> Request:
    return (",".join(COLUMNS) + "\n" + "1.25,1,2,red\n" * 700_000 + "4x,1,2,red\n").encode(), CSV


def _large_nesting(rng: random.Random) -> Request:
    return b'{"instances": ' + b"[" * 10_000_000, JSON


def _large_column(rng: random.Random) -> Request:
    return _dump({"inputs": {"width": [1.5] * 2_000_000}}), JSON


def _large_binary(rng: random.Random) -> Request:
    return rng.randbytes(10_000_000), rng.choice([JSON, CSV])
