"""The command `ldep score`: the rows of a file of any size, in pieces, in bounded memory."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from tqdm import tqdm

from ldep.explanation import PairExplanation
from pipeline.common.errors import UserError
from pipeline.common.files import replacing
from pipeline.data.tables import Layout, Table, open_table
from pipeline.encoding.cells import CellError
from pipeline.registry import download
from pipeline.serving import unknown_values
from pipeline.serving.served_model import ServedModel
from pipeline.serving.unknown_values import Report

log = logging.getLogger(__name__)
TARGETS = (".csv", ".parquet")
Write = Callable[[pa.Table], None]


def run(
    uri: str,
    source: Path,
    target: Path,
    *,
    explain: bool = False,
    strict: bool = False,
    root: Path = Path(),
    layout: Layout | None = None,
) -> int:
    """Write the class, decision value and probability of each row, in the order of the rows; return their number.

    A column names the values that were taken as missing. With `strict` such a value is an error.
    """
    if target.suffix not in TARGETS:
        raise UserError(f"{target}: the answers are written as .csv or .parquet.")
    if target.exists() and source.exists() and target.samefile(source):
        raise UserError(f"{target} is the input file, and would be overwritten; name another file for the answers.")
    model = download.load(uri, root)
    if explain and not hasattr(model.model, "explain"):
        raise UserError(f"{type(model.model).__name__} has no exact explanation; leave --explain out.")
    rows = open_table(source, layout, known=model.encoder.columns_)
    began, done, unknown = time.monotonic(), 0, Counter[str]()
    with replacing(target) as part, _writer(part, target.suffix) as write, tqdm(unit=" rows", disable=None) as bar:
        # One batch is scored while the previous one is written, so at most three are in memory.
        with ThreadPoolExecutor(1) as writing_thread:
            writing: Future[None] | None = None
            for piece in _pieces(rows, model):
                answers, report = _answers(model, rows, piece, explain, strict, done)
                unknown.update({name: len(unknown_rows) for name, unknown_rows in report.items()})
                if writing is not None:
                    writing.result()
                writing = writing_thread.submit(write, answers)
                done += len(piece)
                bar.update(len(piece))
            if writing is not None:
                writing.result()
        if not done:  # the columns of an empty table are still its columns
            write(table(model, None, explain)[0])
    seconds = time.monotonic() - began
    log.info("%s: %d rows in %.1f s, %.0f per second.", target, done, seconds, done / max(seconds, 1e-9))
    if unknown:
        shown = ", ".join(f"{name} ({count})" for name, count in unknown.most_common())
        log.warning("%s: unknown values were taken as missing, in cells of: %s.", source, shown)
    return done


def _pieces(rows: Table, model: ServedModel) -> Iterator[pa.Table]:
    return rows.pieces(model.encoder.columns_, model.encoder.numeric_columns)


def _answers(
    model: ServedModel, rows: Table, piece: pa.Table, explain: bool, strict: bool, done: int
) -> tuple[pa.Table, Report]:
    try:
        return table(model, piece, explain, strict)
    except CellError as error:
        place = rows.place(done + error.row)
        raise UserError(f"{rows.path}: {place}, column '{error.column}': {error.reason}") from None
    except ValueError as error:
        raise UserError(f"{rows.path}, after row {done}: {error}") from None


def table(model: ServedModel, piece: pa.Table | None, explain: bool, strict: bool = False) -> tuple[pa.Table, Report]:
    """Return the answers for some rows, one column per kind of answer, and the values that were taken as missing."""
    X, report = np.empty((0, len(model.columns))), Report()
    if piece is not None:
        frame = piece.to_pandas()
        X, report = model.read(frame)
        if strict:
            unknown_values.refuse(frame, report)
    numbers, values = model.score(X)
    classes = pa.array(model.classes, pa.string())
    columns = {"class": pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), classes)}
    probability = model.probability(X, values)
    if values is not None and probability is not None:
        columns |= _score_columns(model.classes, values, probability)
    if explain:
        columns |= _explanation_columns(model, X)
    columns["taken_as_missing"] = _column_names(report, len(X))
    return pa.table(columns), report


def _score_columns(classes: list[str], values: np.ndarray, probability: np.ndarray) -> dict[str, pa.Array]:
    """With two classes the decision value and the probability of the second; with more both of every class."""
    if values.ndim == 1:
        return {"decision": pa.array(values), f"probability_of_{classes[1]}": pa.array(probability)}
    decisions = {f"decision_of_{label}": pa.array(column) for label, column in zip(classes, values.T)}
    return decisions | {f"probability_of_{label}": pa.array(column) for label, column in zip(classes, probability.T)}


def _explanation_columns(model: ServedModel, X: np.ndarray) -> dict[str, pa.Array]:
    explanation = model.explain(X) if len(X) else None
    columns: dict[str, pa.Array] = {}
    if len(model.classes) > 2:
        rivals: Any = explanation.rival if isinstance(explanation, PairExplanation) else []
        columns["against"] = pa.array([str(label) for label in rivals], pa.string())
    columns["bias"] = pa.array(np.zeros(0) if explanation is None else explanation.bias)
    contributions = X if explanation is None else explanation.contributions
    for name, contribution in zip(model.columns, contributions.T):
        columns[f"contribution_of_{name}"] = pa.array(contribution)
    return columns


def _column_names(report: Report, count: int) -> pa.Array:
    """Return for each row the columns whose value was taken as missing, as text; null if there are none."""
    if not report:
        return pa.nulls(count, pa.string())
    names = unknown_values.columns_by_row(report, count)
    return pa.array(["; ".join(columns) or None for columns in names], pa.string())


def _plain(rows: pa.Table) -> pa.Table:
    """Answers for a CSV file, which takes no dictionaries."""
    return rows.set_column(0, "class", rows.column(0).cast(pa.string()))


@contextmanager
def _writer(part: Path, suffix: str) -> Iterator[Write]:
    """Give a function that writes tables; the first one opens the file, since it has the columns of all."""
    opened: list[pyarrow.parquet.ParquetWriter | pyarrow.csv.CSVWriter] = []

    def write(rows: pa.Table) -> None:
        if not opened:
            if suffix == ".parquet":
                # Scores do not repeat, and do not shrink: looking for it costs more than all the rest.
                options = {"use_dictionary": ["class"], "compression": {"class": "snappy"}, "write_statistics": False}
                opened.append(pyarrow.parquet.ParquetWriter(part, rows.schema, **options))
            else:
                opened.append(pyarrow.csv.CSVWriter(part, _plain(rows).schema))
        opened[0].write_table(rows if suffix == ".parquet" else _plain(rows))

    try:
        yield write
    finally:
        for writer in opened:
            writer.close()
