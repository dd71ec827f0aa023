"""Parquet bodies: the same cells as in CSV and JSON, and hostile files in bounded memory."""

from __future__ import annotations

import asyncio
import datetime
import io
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ldep_pipeline.server import parquet_process
from ldep_pipeline.server.parquet_process import MEMORY, ParquetReader
from ldep_pipeline.server.refusals import BadRequest

LARGEST = 4 * 2**20
MANY = 2_000_000_000


def packed(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


@pytest.fixture(scope="module")
def asked():
    """Ask a reader in one event loop; the answer, or the refusal."""
    loop = asyncio.new_event_loop()
    reader = ParquetReader(LARGEST)

    def ask(body: bytes, *columns: str) -> pa.Table | tuple[int, str]:
        try:
            return loop.run_until_complete(reader.read(body, columns))
        except BadRequest as error:
            return error.status, str(error)

    yield ask
    loop.run_until_complete(reader.close())
    loop.close()


def test_cells_are_those_of_the_file(asked):
    day = datetime.date(2024, 2, 29)
    columns: dict[str, list[Any]] = {
        "number": [0.1, None, float("nan")],
        "whole": [2**60, None, -1],
        "flag": [True, False, None],
        "text": ["ä", None, "ä"],
        "price": [Decimal("1.50"), None, Decimal("0.10")],
        "day": [day, None, day],
        "other": ["x", "y", "z"],
    }
    table = pa.table(columns).append_column("kind", pa.array(["b", "a", "b"]).dictionary_encode())
    names = ("kind", "number", "whole", "flag", "text", "price", "day", "absent")
    found = asked(packed(table), *names)
    assert found.column_names == [name for name in names if name != "absent"]
    cells = parquet_process.cells(found)
    assert cells("kind", 0, 3) == ["b", "a", "b"]
    assert cells("number", 0, 2) == [0.1, None]
    assert cells("whole", 0, 3) == [2**60, None, -1]
    assert cells("flag", 0, 3) == [True, False, None]
    assert cells("text", 1, 3) == [None, "ä"]
    assert cells("price", 0, 3) == [1.5, None, 0.1]
    assert cells("day", 0, 3) == ["2024-02-29", None, "2024-02-29"]


def test_rows_of_several_row_groups_and_pieces(asked):
    table = pa.table({"a": range(250_000), "b": [str(number % 7) for number in range(250_000)]})
    found = asked(packed(table, row_group_size=1000), "a", "b")
    cells = parquet_process.cells(found)
    assert cells("a", 99_990, 200_010) == list(range(99_990, 200_010))
    assert cells("b", 99_999, 100_001) == [str(number % 7) for number in (99_999, 100_000)]


def test_a_file_without_rows_or_without_these_columns(asked):
    assert asked(packed(pa.table({"a": pa.array([], pa.float64())})), "a").num_rows == 0
    assert asked(packed(pa.table({"a": [1, 2]})), "b").num_columns == 0


def repeated_value(rows: int) -> bytes:
    return packed(pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x"])}))


def long_text(rows: int) -> bytes:
    """Each row repeats a text of 10,000 characters, which the file has once."""
    return packed(pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * 10_000])}))


def zeros(megabytes: int) -> bytes:
    return packed(pa.table({"a": pa.array([b"\0" * 2**20] * megabytes, pa.binary())}), compression="zstd")


def declared_rows(count: int) -> bytes:
    """A file whose footer declares more rows than it has."""
    body = packed(pa.table({"a": [1.0] * 7777}), compression="none", use_dictionary=False)
    footer = int.from_bytes(body[-8:-4], "little")
    head, tail = body[: -8 - footer], body[-8 - footer :]

    def varint(number: int) -> bytes:
        number *= 2  # zigzag
        found = b""
        while number > 127:
            found, number = found + bytes([number % 128 + 128]), number // 128
        return found + bytes([number])

    assert tail.count(varint(7777)) >= 2
    changed = tail[:-8].replace(varint(7777), varint(count))
    return head + changed + len(changed).to_bytes(4, "little") + b"PAR1"


HOSTILE: dict[str, Callable[[], bytes]] = {
    "a value for a million rows": lambda: repeated_value(1_000_000),
    "a value for fifty million rows": lambda: repeated_value(50_000_000),
    "a long text for 100,000 rows": lambda: long_text(100_000),
    "zeros that unpack to 300 MB": lambda: zeros(300),
    "two billion declared rows": lambda: declared_rows(MANY),
    "more declared rows than there are": lambda: declared_rows(90_000),
    "lists": lambda: packed(pa.table({"a": [[1, 2], [3]]})),
    "structs": lambda: packed(pa.table({"a": [{"b": 1}]})),
    "maps": lambda: packed(pa.table({"a": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))})),
    "a column twice": lambda: packed(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])),
    "text that is no text": lambda: packed(pa.table({"a": pa.array([b"\xff\xfe"])})),
    "empty": lambda: b"",
    "marks alone": lambda: b"PAR1PAR1",
    "a huge footer": lambda: b"PAR1" + b"\0" * 100 + b"\xff\xff\xff\x7f" + b"PAR1",
    "JSON": lambda: b'{"inputs": {"a": [1]}}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_a_sentence_in_bounded_memory(asked, name):
    body = HOSTILE[name]()
    assert len(body) < LARGEST
    found = asked(body, "a")
    assert isinstance(found, tuple), found.shape
    assert found[0] in (400, 413)
    assert found[1].endswith(".")
    assert "/tmp" not in found[1]
    for child in psutil.Process().children(recursive=True):
        if "parquet_process" in " ".join(child.cmdline()):
            assert child.memory_info().rss < (MEMORY + 1) * LARGEST + 2**28
    assert asked(packed(pa.table({"a": [1.5]})), "a")["a"].to_pylist() == [1.5]


def test_a_damaged_file_is_refused_or_read(asked):
    """Bytes changed at random: never a crash of what asks, and the reader goes on."""
    rng = random.Random(0)
    table = pa.table({"a": [rng.random() for _ in range(50)], "b": [rng.choice("xyz") for _ in range(50)]})
    body = packed(table)
    for _ in range(150):
        damaged = bytearray(body)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        found = asked(bytes(damaged), "a", "b")
        assert not isinstance(found, tuple) or found[0] in (400, 413)
    assert asked(body, "a").num_rows == 50
