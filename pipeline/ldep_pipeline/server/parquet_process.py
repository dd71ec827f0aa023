"""Parquet bodies, unpacked in a process of their own.

A small Parquet file may stand for more than a machine's memory: pages that unpack to gigabytes, rows by the billion, a
long text that each row repeats. And a damaged one may end the process that reads it. So each process of the server
starts one other at the first such body. It has a limit of memory, refuses what is larger than a limit when it is
unpacked, and passes the cells on.

Run as `python -m ldep_pipeline.server.parquet_process BYTES`.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from ldep_pipeline.common.errors import UserError, first_line
from ldep_pipeline.data.tables.typed_tables import UNREADABLE, ParquetTable
from ldep_pipeline.server.child_process import ChildProcess, answer_all
from ldep_pipeline.server.refusals import BadRequest

SLOWEST = 60.0  # seconds
# Of a body. A column that always has the same value takes next to nothing in a file, but each row takes time to answer.
MOST_TIMES = 16
SMALL = 100_000  # cells and characters that a body may stand for, whatever its size
MEMORY = 16  # times the largest body, that the process may use beside what it needs to start
TOO_LARGE = 413
# Numbers of threads: each has a stack, which counts as memory.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


class ParquetReader:
    """The process, and who waits for it. `largest` is the limit of a body, in bytes, packed or not."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self._slot = asyncio.Lock()
        self._process = ChildProcess(__name__, str(largest), environment=ENVIRONMENT)

    async def read(self, body: bytes, columns: Sequence[str]) -> pa.Table:
        """The rows of a body, in those of the columns that it has; BadRequest says what is wrong."""
        question = json.dumps(list(columns)).encode() + b"\n" + body
        async with self._slot:
            answer = await self._process.ask(question, SLOWEST, MEMORY * self.largest)
        if answer is None:
            message = f"The Parquet body cannot be read within {SLOWEST:.0f} s and {MEMORY} times the memory of the "
            raise BadRequest(f"{message}largest body; send the rows in parts, or as CSV.", TOO_LARGE)
        head, _, content = answer.partition(b"\n")
        refusal = json.loads(head)
        if refusal is not None:
            raise BadRequest(*refusal)
        return pa.ipc.open_stream(content).read_all()

    async def close(self) -> None:
        await self._process.close()


def cells(table: pa.Table) -> Callable[[str, int, int], list[Any]]:
    """A function that returns some rows of a column as Python has them; equal texts are one object."""
    texts: dict[tuple[str, int], list[str | None]] = {}

    def chunk_cells(column: str, number: int, chunk: pa.Array) -> list[Any]:
        if not pa.types.is_dictionary(chunk.type):
            return chunk.to_pylist()
        if (column, number) not in texts:
            texts[column, number] = chunk.dictionary.to_pylist()
        known = texts[column, number]
        return [None if index is None else known[index] for index in chunk.indices.to_pylist()]

    def rows(column: str, start: int, stop: int) -> list[Any]:
        found: list[Any] = []
        first = 0  # row of the chunk
        for number, chunk in enumerate(table.column(column).chunks):
            low, high = max(start - first, 0), min(stop - first, len(chunk))
            if low < high:
                found += chunk_cells(column, number, chunk.slice(low, high - low))
            first += len(chunk)
        return found

    return rows


def run(largest: int) -> None:
    def prepare() -> Callable[[bytes], bytes]:
        pa.set_cpu_count(1)
        pa.set_io_thread_count(1)
        resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + MEMORY * largest,) * 2)
        return lambda question: _answer(question, largest)

    answer_all(prepare)


def _answer(question: bytes, largest: int) -> bytes:
    """A line with null or a refusal, and the rows."""
    names, _, body = question.partition(b"\n")
    try:
        with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
            file.write(body)
            file.flush()
            try:
                table = _read(Path(file.name), json.loads(names), min(largest, max(MOST_TIMES * len(body), SMALL)))
            except UserError as error:
                raise BadRequest(str(error).replace(file.name, "The body")) from None
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=False)) as out:
            out.write_table(table)
        return b"null\n" + sink.getvalue().to_pybytes()
    except BadRequest as refusal:
        return json.dumps([str(refusal), refusal.status]).encode() + b"\n"
    except MemoryError:
        message = "The Parquet body takes too much memory when it is unpacked; send the rows in parts, or as CSV."
        return json.dumps([message, TOO_LARGE]).encode() + b"\n"


def _read(path: Path, columns: Sequence[str], limit: int) -> pa.Table:
    """The rows, if their cells and characters together are at most `limit`."""
    source = ParquetTable(path)
    present = [name for name in columns if name in set(source.columns)]
    try:
        count = pyarrow.parquet.read_metadata(path).num_rows
    except UNREADABLE as error:
        raise BadRequest(f"The body is not a readable Parquet file: {first_line(error)}.") from None
    size = count * max(len(present), 1)
    if size > limit:
        raise _too_large(limit)
    pieces = []
    for piece in source.pieces(present) if present else []:
        size += sum(map(_characters, piece.columns))
        if size > limit:
            raise _too_large(limit)
        pieces.append(piece)
    if present and sum(map(len, pieces)) != count:
        raise BadRequest(f"The Parquet body has {sum(map(len, pieces))} rows, and declares {count}.")
    if not pieces:
        return pa.table({name: pa.array([], pa.null()) for name in present})
    return pa.concat_tables(pieces).unify_dictionaries()


def _characters(column: pa.ChunkedArray) -> int:
    """Bytes of the texts of a column, with those of equal texts."""
    if not pa.types.is_dictionary(column.type):
        return 0
    return sum(
        pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices), min_count=0).as_py() for chunk in column.chunks
    )


def _too_large(limit: int) -> BadRequest:
    return BadRequest(
        f"The Parquet body stands for more than {limit} cells and characters of text, which is the most for its size; "
        "send the rows in parts, or as CSV.",
        TOO_LARGE,
    )


if __name__ == "__main__":
    run(int(sys.argv[1]))
