"""Batch scoring: a CSV or Parquet file of any size, piece by piece, in bounded memory."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from tqdm import tqdm

from pipeline.common.errors import UserError, nearest
from pipeline.common.files import replacing
from pipeline.encoding.cells import MISSING
from pipeline.registry import download
from pipeline.serving.served_model import ServedModel

log = logging.getLogger(__name__)
ROWS = 100_000  # of a Parquet file at a time
BYTES = 1 << 20  # of a CSV file at a time; pyarrow reads up to 32 such pieces ahead
Write = Callable[[pa.Table], None]


def run(uri: str, source: Path, target: Path, explain: bool = False, root: Path = Path()) -> int:
    """Write the class, decision value and probability of each row, in the order of the rows; return their number."""
    model = download.load(uri, root)
    if explain and not hasattr(model.model, "explain"):
        raise UserError(f"{type(model.model).__name__} has no exact explanation; leave --explain out.")
    for path in (source, target):
        if path.suffix not in (".csv", ".parquet"):
            raise UserError(f"{path}: neither .csv nor .parquet.")
    if not source.is_file():
        raise UserError(f"{source} is not here.")
    began, done = time.monotonic(), 0
    with replacing(target) as part, _writer(part, target.suffix) as write, tqdm(unit=" rows", disable=None) as bar:
        try:
            # One piece is scored while the one before is written: at most three are held.
            with ThreadPoolExecutor(1) as other:
                writing: Future[None] | None = None
                for piece in _pieces(source, model):
                    answers = table(model, piece, explain)
                    if writing is not None:
                        writing.result()
                    writing = other.submit(write, answers)
                    done += len(piece)
                    bar.update(len(piece))
                if writing is not None:
                    writing.result()
        except (pa.ArrowInvalid, pa.ArrowKeyError, ValueError) as error:
            raise UserError(f"{source}, after row {done}: {error}") from None
        if not done:  # the columns of an empty table are still its columns
            write(table(model, None, explain))
    seconds = time.monotonic() - began
    log.info("%s: %d rows in %.1f s, %.0f a second.", target, done, seconds, done / max(seconds, 1e-9))
    return done


def table(model: ServedModel, piece: pa.Table | None, explain: bool) -> pa.Table:
    """The answers for some rows, a column each."""
    X = np.empty((0, len(model.columns))) if piece is None else model.numbers(piece.to_pandas())
    empty = not len(X)
    positive, values = (np.zeros(0, bool), np.zeros(0)) if empty else model.score(X)
    classes = pa.array(model.classes, pa.string())
    columns = {"class": pa.DictionaryArray.from_arrays(positive.view(np.int8), classes)}
    if values is not None and model.sigmoid is not None:
        columns["decision"] = pa.array(values)
        columns[f"probability_of_{model.classes[1]}"] = pa.array(model.sigmoid(values))
    if explain:
        contributions, bias = (X, np.zeros(0)) if empty else model.explain(X) or (X, values)
        columns["bias"] = pa.array(bias)
        for name, contribution in zip(model.columns, contributions.T):
            columns[f"contribution_of_{name}"] = pa.array(contribution)
    return pa.table(columns)


def _pieces(source: Path, model: ServedModel) -> Iterator[pa.Table]:
    columns, categories = model.encoder.columns_, model.encoder.categories_
    if source.suffix == ".parquet":
        file = pyarrow.parquet.ParquetFile(source, pre_buffer=False)  # a buffer would hold what was read
        _check(source, columns, file.schema_arrow.names)
        for batch in file.iter_batches(batch_size=ROWS, columns=columns):
            yield with_dictionaries(pa.Table.from_batches([batch]))
        return
    with source.open(encoding="utf-8-sig", errors="replace") as text:
        if not text.read(1):
            raise UserError(f"{source} is empty: not even a line of column names.")
    nominal = pa.dictionary(pa.int32(), pa.string())
    types = {name: nominal if known else pa.float64() for name, known in zip(columns, categories)}
    with pyarrow.csv.open_csv(
        source,
        pyarrow.csv.ReadOptions(block_size=BYTES),
        pyarrow.csv.ParseOptions(newlines_in_values=True),
        pyarrow.csv.ConvertOptions(
            column_types=types, include_columns=columns, null_values=sorted(MISSING), strings_can_be_null=True
        ),
    ) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])


def with_dictionaries(piece: pa.Table) -> pa.Table:
    """Text as dictionaries: the encoder then looks up each category once, not each cell."""
    for number, field in enumerate(piece.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            piece = piece.set_column(number, field.name, piece.column(number).dictionary_encode())
    return piece


def _check(source: Path, columns: list[str], there: list[str]) -> None:
    for name in columns:
        if name not in there:
            raise UserError(f"{source} has no column '{name}'; {nearest(name, there)}")


def _plain(rows: pa.Table) -> pa.Table:
    """A CSV file takes no dictionaries."""
    return rows.set_column(0, "class", rows.column(0).cast(pa.string()))


@contextmanager
def _writer(part: Path, suffix: str) -> Iterator[Write]:
    """Opened by the first table, whose columns are those of all."""
    opened: list[pyarrow.parquet.ParquetWriter | pyarrow.csv.CSVWriter] = []

    def write(rows: pa.Table) -> None:
        if not opened:
            if suffix == ".parquet":
                # Scores do not repeat, and do not shrink: looking for it costs more than all the rest.
                options = {"use_dictionary": ["class"], "compression": {"class": "snappy"}, "write_statistics": False}
                opened.append(pyarrow.parquet.ParquetWriter(part, rows.schema, **options))
            else:
                opened.append(pyarrow.csv.CSVWriter(part, _plain(rows).schema))
        opened[0].write_table(rows) if suffix == ".parquet" else opened[0].write(_plain(rows))

    try:
        yield write
    finally:
        for writer in opened:
            writer.close()
