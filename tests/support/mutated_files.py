"""Data files of a user that something is wrong with, or at least odd: the same ones each time.

A file begins as a table of raw cells, which is written in one of the three formats. Some files are damaged afterwards.
The others carry their cells, so that what was read can be compared with them.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

TARGET = "label"
NUMBERS = ["0", "-1", "2.5", "1e3", " 7 ", "+4", "007", "1E-5", ".5", "3.", "-0.0", "123456789012345678", "1e-320"]
WORDS = [
    "red",
    "Blue",
    "größe",
    "ℓ",
    "a b",
    "x,y",
    'say "hi"',
    "it's",
    "l1\nl2",
    "{a}",
    "%",
    "@data",
    "\\",
    "🜚",
    "#",
    "-",
]
DATES = ["2024-02-29", "2023-12-31 23:59", "29.02.2024", "1/2/2024", "5 Jan 2024", "2024-01-05T10:00:00+02:00"]
SPELLED = ["1,5", "1.234,5", "1,234.5", "12 %", "9.5%", "1'234", "1\u202f000", "-0,25", "1.000"]
UNITS = ["12 kg", "3.5m", "$ 20", "7 °C", "100 km/h"]
GAPS = ["", "?", "NA", "nan", "None", "null", "N/A"]
ODD = [
    "1e308",
    "-1e200",
    "inf",
    "-Infinity",
    "1_000",
    "1,5",
    "1.234,5",
    "12 %",
    "$3",
    "0x1f",
    "١٢",
    "½",
    "TRUE",
    "false",
]
ODD += [
    "2026-11-17",
    "9" * 400,
    "x" * 3000,
    "\u200b",
    "a\u0301",
    "=1+1",
    "'",
    '"',
    ";",
    "\t",
    "1\xa0000",
    "#REF!",
    "--",
]
NAMES = [
    "size",
    "a b",
    "größe",
    "x,y",
    'q"q',
    "",
    " ",
    "1",
    "2.5",
    "label ",
    "LABEL",
    "\u200b",
    "🜚",
    "x" * 300,
    "%",
    "{",
    "'",
]
NAMES += ["index", "class", "__index_level_0__", "nan", "a\nb", "a\tb", "@x", "?", "z\ufeff", "-", "0"]
LABELS = [
    ("yes", "no"),
    ("0", "1"),
    ("True", "False"),
    ("a,b", "c"),
    ("ja", "nö"),
    (" x", "x"),
    ("1", "1.0"),
    ("NA", "b"),
]
LABELS += [("a", "b", "c"), ("only",), ("", "b"), ("1e308", "0"), ("x" * 2000, "y"), ("01", "2")]


class OwnFile(NamedTuple):
    """The content of a file, its settings in own_data, what is odd about it, and its cells where they are known."""

    content: bytes
    suffix: str
    settings: dict[str, Any]
    change: str
    cells: dict[str, list[Any]] | None = None


def files(count: int, seed: int = 0) -> Iterator[OwnFile]:
    rng = random.Random(seed)
    kinds = [
        _csv,
        _damaged_csv,
        _parquet,
        _arff,
        _damaged_csv,
        _typed_parquet,
        _damaged_arff,
        _csv,
        _damaged_parquet,
        _extreme,
    ]
    for number in range(count):
        yield kinds[number % len(kinds)](rng)


def _cells(rng: random.Random, rows: int) -> list[str]:
    """One column: numbers, words, or a mixture, with gaps, and in a part of the columns odd cells."""
    kind = rng.choice([NUMBERS, NUMBERS, WORDS, NUMBERS + WORDS, DATES, SPELLED, UNITS])
    if kind in (DATES, SPELLED, UNITS) and rng.random() < 0.5:  # one way of writing, as in an honest file
        kind = _one_way(rng, rng.choice(kind))
    column = [rng.choice(kind) for _ in range(rows)]
    for row in range(rows):
        chance = rng.random()
        if chance < 0.1:
            column[row] = rng.choice(GAPS)
    if rng.random() < 0.3:
        column[rng.randrange(rows)] = rng.choice(ODD)
    return column


def _one_way(rng: random.Random, text: str) -> list[str]:
    """Forty texts like the given one, with other digits."""
    return ["".join(str(rng.randint(1, 2)) if letter in "12" else letter for letter in text) for _ in range(40)]


def _table(rng: random.Random) -> dict[str, list[str]]:
    rows = rng.choice([2, 5, 30])
    names = rng.sample(NAMES, rng.randint(1, 5)) if rng.random() < 0.5 else [f"f{n}" for n in range(rng.randint(1, 5))]
    labels = rng.choice(LABELS) if rng.random() < 0.3 else LABELS[0]
    table = {name: _cells(rng, rows) for name in names}
    table[TARGET] = [labels[row % len(labels)] for row in range(rows)]
    order = list(table)
    rng.shuffle(order)
    return {name: table[name] for name in order}


def _csv(rng: random.Random) -> OwnFile:
    """A table as Python's csv module writes it, in some delimiter, quoting, encoding and line ending."""
    table = _table(rng)
    delimiter = rng.choice([",", ",", ";", "\t", "|", " "])
    encoding = rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "latin-1"])
    text = io.StringIO()
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=rng.choice(["\n", "\r\n", "\r"]))
    writer.writerow(table)
    writer.writerows(zip(*table.values()))
    settings = {"delimiter": delimiter, "encoding": "utf-8" if encoding == "utf-8-sig" else encoding}
    cells: dict[str, list[Any]] | None = dict(table)
    try:
        content = text.getvalue().encode(encoding)
    except UnicodeEncodeError:
        content, cells = text.getvalue().encode(encoding, "replace"), None
    return OwnFile(content, ".csv", settings, f"CSV, {delimiter!r}, {encoding}", cells)


def _damaged_csv(rng: random.Random) -> OwnFile:
    good = _csv(rng)
    text = good.content
    lines = text.splitlines(keepends=True)
    where = rng.randrange(len(lines))
    sign = good.settings["delimiter"].encode()
    damages = [
        text[: rng.randrange(len(text))],
        _overwritten(rng, text),
        _inserted(rng, text),
        b"".join([*lines[:where], lines[where].rstrip(b"\r\n") + sign + b"9\n", *lines[where + 1 :]]),
        b"".join([*lines[:where], b"\n\n", sign * 3 + b"\n", *lines[where:]]),
        b"".join(lines[1:]),
        lines[0] + text,
        lines[0].rstrip(b"\r\n") + sign + lines[0] + b"".join(lines[1:]),
        b"\xef\xbb\xbf\xef\xbb\xbf" + text,
        text.replace(b"\n", b"\r\r\n"),
        text + b'"',
        text.replace(b'"', b"'"),
        text.replace(sign, rng.choice([b";", b",", b"\t", b"\x00"])),
        text * 3,
    ]
    kind = rng.randrange(len(damages))
    settings = dict(good.settings)
    if rng.random() < 0.2:
        settings["encoding"] = rng.choice(
            ["utf-8", "utf-16", "ascii", "utf-7", "cp037", "idna", "base64", "shift_jis", "hz"]
        )
    if rng.random() < 0.2:
        settings["delimiter"] = rng.choice([",", ";", "\t", " ", "ℓ", "1", ".", "a"])
    if rng.random() < 0.2 and settings["delimiter"] != ",":
        settings["decimal"] = ","
    return OwnFile(damages[kind], ".csv", settings, f"{good.change}, damage {kind}, {settings}")


def _inserted(rng: random.Random, content: bytes) -> bytes:
    snippets = [
        b"\x00",
        b"\xff",
        b'"',
        b"'",
        b"\r",
        b"\n",
        b"\x1a",
        b"\xc3",
        "ℓ".encode(),
        b"%",
        b"{",
        b"}",
        b"@DATA\n",
        b"?",
    ]
    where = rng.randrange(len(content) + 1)
    return content[:where] + rng.choice(snippets) * rng.choice([1, 1, 3, 5000]) + content[where:]


def _overwritten(rng: random.Random, content: bytes) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 1, 5, 50])):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def _arff(rng: random.Random) -> OwnFile:
    """A table with declared kinds; every text is quoted."""
    table = {"".join(letter for letter in name if letter not in "'\n"): column for name, column in _table(rng).items()}
    lines, kinds = ["@RELATION r"], []
    for name, column in table.items():
        numeric = all(cell in NUMBERS or cell in ("", "?") for cell in column)
        present = list(dict.fromkeys(cell for cell in column if cell not in ("", "?")))
        kind = rng.choice(["NUMERIC", "real", "Integer"]) if numeric else rng.choice(["nominal", "nominal", "STRING"])
        kinds.append(kind)
        shown = "{" + ", ".join(_quoted(cell) for cell in present) + "}" if kind == "nominal" else kind
        lines.append(f"@ATTRIBUTE {_quoted(name)} {shown}")
    lines.append("@DATA")
    for row in zip(*table.values()):
        cells = [
            "?" if cell in ("", "?") else _quoted(cell) if kind in ("nominal", "STRING") else cell.strip()
            for cell, kind in zip(row, kinds)
        ]
        lines.append(rng.choice([",", ", "]).join(cells))
    return OwnFile("\n".join(lines).encode(), ".arff", {}, "ARFF", dict(table))


def _damaged_arff(rng: random.Random) -> OwnFile:
    good = _arff(rng)
    text = good.content
    lines = text.splitlines(keepends=True)
    where = rng.randrange(len(lines))
    odd_lines = [
        *(
            b"@ATTRIBUTE d DATE 'yyyy-MM-dd'\n",
            b"@ATTRIBUTE d date\n",
            b"@ATTRIBUTE s RELATIONAL\n",
            b"@ATTRIBUTE e {}\n",
        ),
        *(
            b"@ATTRIBUTE size numeric\n",
            b"@ATTRIBUTE\n",
            b"@ATTRIBUTE x\n",
            b"@ATTRIBUTE x color\n",
            b"@ATTRIBUTE x {a,a}\n",
        ),
        *(
            b"@DATA\n",
            b"@RELATION\n",
            b"@END r\n",
            b"@FOO\n",
            b"% comment\n",
            b"\n",
            b"{0 1, 1 2}\n",
            b"{}\n",
            b"{9 9}\n",
        ),
        *(
            b"1_000,1_000\n",
            b"1,5;2\n",
            b"inf,nan\n",
            b"1e999,0x1\n",
            b"'\n",
            b'"a,b\n',
            b"?,?,?,?,?,?,?,?\n",
            b",,,\n",
        ),
        *(
            b"1,2,3,{5}\n",
            b"\xff\xfe\n",
            b"\x00\n",
            b"{0 x, 0 y}\n",
            b"'a\\",
            b"@ATTRIBUTE 'it\\'s' {a,b}\n",
            b"{-1 2}\n",
        ),
    ]
    damages = [
        text[: rng.randrange(len(text))],
        _overwritten(rng, text),
        _inserted(rng, text),
        b"".join([*lines[:where], rng.choice(odd_lines), *lines[where:]]),
        text + b"\n" + rng.choice(odd_lines),
        text + b"\n" + rng.choice(odd_lines),
        b"".join([*lines[:where], *lines[where + 1 :]]),
        text.replace(b"'", rng.choice([b"", b'"'])),
        text.replace(b",", rng.choice([b"\t", b";", b" "])),
        text.replace(b"\n", b"\r"),
        text * 2,
        b"\xef\xbb\xbf" + text,
    ]
    kind = rng.randrange(len(damages))
    return OwnFile(damages[kind], ".arff", {}, f"ARFF, damage {kind}")


def _write(table: pa.Table, **options: Any) -> bytes:
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer, **options)
    return buffer.getvalue()


def _parquet(rng: random.Random) -> OwnFile:
    """The same tables as text, or as dictionaries of text."""
    table = _table(rng)
    columns = []
    for column in table.values():
        array = pa.array(column, rng.choice([pa.string(), pa.large_string(), pa.binary()]))
        columns.append(array.dictionary_encode() if rng.random() < 0.3 and array.type != pa.binary() else array)
    options = {"row_group_size": rng.choice([1, 1000]), "compression": rng.choice(["none", "snappy", "zstd"])}
    content = _write(pa.Table.from_arrays(columns, list(table)), **options)
    return OwnFile(content, ".parquet", {}, "Parquet, text", dict(table))


def _typed(rng: random.Random) -> tuple[str, pa.Array]:
    """A column of one of the types that Parquet has, with a gap."""
    noon = datetime.datetime(2026, 11, 17, 12)
    values: list[tuple[Any, Any]] = [
        *(([1, -2, None, 4], kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
        *(([1, 2, None, 200], kind) for kind in (pa.uint8(), pa.uint16(), pa.uint32())),
        ([2**64 - 1, 0, None, 2**53 + 1], pa.uint64()),
        ([-(2**63), 0, None, 2**53 + 1], pa.int64()),
        *(([1.5, float("nan"), None, -0.0], kind) for kind in (pa.float32(), pa.float64())),
        ([float("inf"), 1.0, None, 2.0], pa.float64()),
        ([1e200, 1.0, None, 2.0], pa.float64()),
        ([decimal.Decimal("1.10"), decimal.Decimal("-2.25"), None, decimal.Decimal("0.00")], pa.decimal128(9, 2)),
        ([decimal.Decimal(10) ** 60, decimal.Decimal(1), None, decimal.Decimal(0)], pa.decimal256(70, 2)),
        ([True, False, None, True], pa.bool_()),
        ([None] * 4, pa.null()),
        (["a", "b", None, "c"], pa.string()),
        (["a", "b", None, "c"], pa.string_view()),
        ([b"a", b"b", None, b"\xff"], pa.binary()),
        ([b"a", b"b", None, b"c"], pa.binary_view()),
        ([b"ab", b"cd", None, b"ef"], pa.binary(2)),
        ([noon.date()] * 3 + [None], pa.date32()),
        ([noon] * 3 + [None], pa.timestamp("us")),
        ([noon.time()] * 3 + [None], pa.time64("us")),
        ([datetime.timedelta(seconds=3)] * 3 + [None], pa.duration("ms")),
        ([[1], [], None, [2, 3]], pa.list_(pa.int64())),
        ([[1, 2], [3, 4], None, [5, 6]], pa.list_(pa.int64(), 2)),
        ([{"a": 1}, {"a": 2}, None, {"a": None}], pa.struct([("a", pa.int64())])),
        ([{"a": [{"b": 1}]}, None, None, None], pa.struct([("a", pa.list_(pa.struct([("b", pa.int8())])))])),
        ([[("k", 1)], [], None, []], pa.map_(pa.string(), pa.int64())),
        ([1, 2, None, 1], pa.dictionary(pa.int8(), pa.int64())),
        ([1.5, 2.5, None, 1.5], pa.dictionary(pa.int8(), pa.float64())),
        (["a", "b", None, "a"], pa.dictionary(pa.int32(), pa.string(), ordered=True)),
        ([noon.date()] * 3 + [None], pa.dictionary(pa.int8(), pa.date32())),
        ([b"a", b"\xff", None, b"a"], pa.dictionary(pa.int8(), pa.binary())),
    ]
    cells, kind = rng.choice(values)
    if pa.types.is_dictionary(kind):  # not every one can be made directly
        return str(kind), pa.array(cells, kind.value_type).dictionary_encode().cast(kind)
    return str(kind), pa.array(cells, kind)


def _typed_parquet(rng: random.Random) -> OwnFile:
    """Up to four columns of any type, beside a target that may be of any type too."""
    columns, names = [], []
    for number in range(rng.randint(1, 4)):
        kind, column = _typed(rng)
        columns.append(column)
        names.append(f"{kind[:20]} {number}" if rng.random() < 0.7 else rng.choice([*NAMES, TARGET]))
    target = _typed(rng)[1] if rng.random() < 0.2 else pa.array(["yes", "no", "yes", "no"])
    times = rng.choice([0, 1, 1, 5])
    arrays = [pa.concat_arrays([column] * times) if times else column.slice(0, 0) for column in (*columns, target)]
    table = pa.Table.from_arrays(arrays, [*names, TARGET])
    metadata = rng.choice(
        [None, None, {b"pandas": b"{"}, {b"pandas": b'{"index_columns": [1, {"a": 2}, "label"]}'}, {b"pandas": b"[]"}]
    )
    change = f"Parquet, {[str(column.type) for column in (*columns, target)]}"
    cells: dict[str, list[Any]] | None = dict(zip(table.column_names, [array.to_pylist() for array in arrays]))
    if len(cells or {}) < len(arrays) or metadata is not None:
        cells = None
    return OwnFile(_write(table.replace_schema_metadata(metadata)), ".parquet", {}, change, cells)


def _damaged_parquet(rng: random.Random) -> OwnFile:
    content = (_parquet if rng.random() < 0.5 else _typed_parquet)(rng).content
    footer = bytearray(content)
    for _ in range(rng.randint(1, 4)):  # the schema and the positions of the columns are near the end
        footer[len(footer) - 1 - rng.randrange(min(len(footer), 600))] = rng.randrange(256)
    damages = [
        content[: rng.randrange(len(content))],
        _overwritten(rng, content),
        _inserted(rng, content),
        bytes(footer),
        bytes(footer),
    ]
    kind = rng.randrange(len(damages))
    return OwnFile(damages[kind], ".parquet", {}, f"Parquet, damage {kind}")


def _extreme(rng: random.Random) -> OwnFile:
    """Files that are empty, of another program, very wide, or very long in one place."""
    content, suffix = rng.choice(EXTREMES)
    if callable(content):
        content = content()
    return OwnFile(content, suffix, {}, f"extreme, {suffix}, {len(content)} bytes: {content[:20]!r}")


def wide_csv(columns: int = 3000) -> bytes:
    """Columns of four different numbers, no two of them alike."""
    header = ",".join(f"c{number}" for number in range(columns))
    rows = [",".join(str(row * columns + number) for number in range(columns)) for row in range(4)]
    return "\n".join([f"{header},{TARGET}", *map(",".join, zip(rows, "abab", strict=True)), ""]).encode()


def _wide_arff() -> bytes:
    attributes = b"".join(b"@ATTRIBUTE c%d numeric\n" % number for number in range(1000))
    return b"@RELATION r\n" + attributes + b"@ATTRIBUTE label {a,b}\n@DATA\n" + b"1," * 1000 + b"a\n"


def _wide_parquet() -> bytes:
    return _write(pa.table({**{f"c{number}": [1, 2] for number in range(1000)}, TARGET: ["x", "y"]}))


def _many_categories() -> bytes:
    values = b",".join(b"v%d" % number for number in range(3000))
    return b"@RELATION r\n@ATTRIBUTE a {" + values + b"}\n@ATTRIBUTE label {a,b}\n@DATA\nv1,a\nv2,b\n"


def _text_that_is_no_utf8() -> bytes:
    offsets, data = pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")
    return _write(pa.table({"a": pa.Array.from_buffers(pa.string(), 2, [None, offsets, data]), TARGET: ["x", "y"]}))


def _one_endless_line() -> bytes:
    return b"a" * 11_000_000


FOREIGN = (
    b"",
    b"\n",
    b"\x00" * 5000,
    b"\xef\xbb\xbf",
    b"PAR1",
    b"PAR1PAR1",
    b"{}",
    b"<html>",
    b"%PDF-1.4\n\xff",
    b"PK\x03\x04\0",
)
EXTREMES: list[tuple[bytes | Callable[[], bytes], str]] = [
    *((content, suffix) for content in FOREIGN for suffix in (".csv", ".arff", ".parquet")),
    (b"label", ".csv"),
    (b"label\nyes\nno\n", ".csv"),
    (b"a,label\n", ".csv"),
    (b"c," * 3000 + b"label\n" + b"1," * 3000 + b"a\n", ".csv"),
    (b"a,label\n" + b"1" * 200_000 + b",x\n2,y\n", ".csv"),
    (b'a,label\n"' + b"x" * 200_000 + b'",x\n2,y\n', ".csv"),
    (b"a,label\n" + b"," * 500_000 + b"\n", ".csv"),
    (b"a,label\n" + b"1,x\n2,y\n" * 50_000, ".csv"),
    (wide_csv, ".csv"),
    (_one_endless_line, ".csv"),
    (_wide_arff, ".arff"),
    (_many_categories, ".arff"),
    (_wide_parquet, ".parquet"),
    (_text_that_is_no_utf8, ".parquet"),
    (_write(pa.table({})), ".parquet"),
    (_write(pa.table({TARGET: ["x", "y"]})), ".parquet"),
]
