"""A model of a Parquet file of any size, in memory that does not grow with it: `ldep stream`.

The file is read several times, a piece at a time: for the encoder, for the scaler, and by the classifier. A part of the
rows is held out, to measure the accuracy and to fit the probabilities.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from ldep import StreamingLDEPClassifier
from pipeline.common.errors import UserError
from pipeline.data.tables import Table, open_table
from pipeline.data.tables.parquet_table import ParquetTable
from pipeline.encoding import cells
from pipeline.encoding.columns import FittedColumn, Nominal, Numeric
from pipeline.encoding.encoder import RawEncoder
from pipeline.serving import calibration, example_row, mlflow_folder
from pipeline.serving.training_profile import TrainingProfile, profile_of

log = logging.getLogger(__name__)
HELD_OUT, MOST_HELD_OUT = 0.1, 100_000  # share of the rows, and how many at most
PROFILE_ROWS = 10_000  # about so many rows describe the columns, for `ldep score --check`
MOST_CATEGORIES = 10_000  # of a nominal column: all are in memory, and a column that numbers the rows is not a feature


def run(
    source: Path, folder: Path, target: str, *, ignore: Sequence[str] = (), settings: dict[str, Any], seed: int = 0
) -> dict[str, Any]:
    """Write the model into a new folder, as `ldep score` and `mlflow models serve -m` take it; tell how good it is."""
    if folder.exists():
        raise UserError(f"{folder} is already there; remove it, or name another folder.")
    began = time.monotonic()
    file = _open(source, target, ignore)
    with tqdm(unit=" rows", unit_scale=True, disable=None) as bar:
        scanned = scan(file, bar)
        rows = StreamedRows(file, scanned, seed, bar)
        for X, _ in rows:
            rows.scaler.partial_fit(X)
        rows.ready = True
        model = StreamingLDEPClassifier(random_state=seed, **settings)
        try:
            model.fit_batches(rows)
        except ValueError as error:
            raise UserError(f"{source}: {error}") from None
        values, positive = rows.held_out(model)
        sample, classes = rows.sample()
    accuracy = float(np.mean((values >= 0) == positive)) if len(values) else float("nan")
    pipe = Pipeline([("encode", scanned.encoder), ("scale", rows.scaler), ("model", model)])
    both = 0 < positive.sum() < len(positive)
    profile = profile_of(scanned.encoder, sample, example_row.choose(pipe, sample, classes))
    _save(folder, pipe, calibration.fit_sigmoid(values, positive) if both else None, profile)
    seconds = time.monotonic() - began
    log.info("%s: %d rows in %d passes, %.0f s.", folder, scanned.rows, rows.passes + 1, seconds)
    log.info("%s: accuracy %.2f %% on %d rows that were held out.", folder, 100 * accuracy, len(values))
    return {"rows": scanned.rows, "held_out": len(values), "accuracy": accuracy, "passes": rows.passes}


@dataclass
class File:
    table: Table
    target: str
    columns: list[str]

    def pieces(self) -> Iterator[pa.Table]:
        return self.table.pieces([*self.columns, self.target])


def _open(source: Path, target: str, ignore: Sequence[str]) -> File:
    if source.suffix not in (".parquet", ".pq"):
        raise UserError(f"{source}: only .parquet files are streamed; other formats are too slow to read repeatedly.")
    table = open_table(source)
    assert isinstance(table, ParquetTable)
    table.require([target, *ignore])
    columns = [name for name in table.columns if name != target and name not in ignore]
    for name in columns:
        kind = table.schema.field(name).type
        if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
            raise UserError(
                f"{source}: the column '{name}' holds {kind}, which is not read piece by piece; leave it out with "
                "--ignore, or store it as numbers."
            )
    if not columns:
        raise UserError(f"{source}: there is no feature beside the target '{target}'.")
    return File(table, target, columns)


@dataclass(frozen=True)
class Scanned:
    """What the first pass finds."""

    encoder: RawEncoder
    classes: list[str]
    rows: int


class _Column:
    """A numeric column's sum, or a nominal one's categories, and the number of cells with a value."""

    def __init__(self, file: File, name: str, kind: pa.DataType):
        self.file, self.name = file, name
        self.numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        self.declared = file.table.declares_order(name)
        self.sum, self.count = 0.0, 0
        self.counts: Counter[str] = Counter()

    @property
    def where(self) -> str:
        return f"{self.file.table.path}, column '{self.name}'"

    def add(self, column: pa.ChunkedArray, first_row: int) -> None:
        if self.numeric:
            try:
                values = cells.numbers_of(column.to_pandas())
            except cells.CellError as error:
                raise UserError(f"{self.where}, row {first_row + error.row + 1}: {error.reason}") from None
            known = values[~np.isnan(values)]
            self.sum, self.count = self.sum + float(known.sum()), self.count + len(known)
            return
        if self.declared:  # the dictionary first: its order is the declared one, also of categories without a row
            for value in column.chunk(0).dictionary.to_pylist():
                self.counts.setdefault(str(value).strip(), 0)
        for value, count in (pair.values() for pair in pc.value_counts(column.combine_chunks()).to_pylist()):
            if cells.read(value) is not None:
                self.counts[str(value).strip()] += count
                self.count += count
        if len(self.counts) > MOST_CATEGORIES:
            raise UserError(
                f"{self.where} has more than {MOST_CATEGORIES} values, too many for a nominal feature; "
                "leave it out with --ignore, or store it as numbers."
            )

    def fitted(self) -> tuple[FittedColumn, float]:
        """The column, and the mean of its codes, which fills its gaps."""
        if not self.count:
            raise UserError(f"{self.where} has no value in any row; leave it out with --ignore.")
        if self.numeric:
            return Numeric(self.name), self.sum / self.count
        texts = cells.present(list(self.counts))
        categories = texts if self.declared else cells.distinct(cells.in_order(texts))
        codes = cells.code_table(tuple(categories))
        total = sum(cells.code_of(text, codes) * self.counts[text] for text in texts)
        return Nominal(self.name, tuple(categories)), total / self.count


def scan(file: File, bar: Any) -> Scanned:
    """Find the categories and means of the features, and the classes of the target, in one pass."""
    columns: dict[str, _Column] = {}
    classes: set[str] = set()
    rows = 0
    for piece in file.pieces():
        for name in file.columns:
            if name not in columns:
                columns[name] = _Column(file, name, piece.schema.field(name).type)
            columns[name].add(piece.column(name), rows)
        classes.update(np.unique(labels(piece.column(file.target), file, rows)).tolist())
        if len(classes) > 2:
            shown = ", ".join(f"'{label}'" for label in sorted(classes)[:6])
            raise UserError(f"{file.table.path}: the target '{file.target}' has more than two classes: {shown}.")
        rows += len(piece)
        bar.update(len(piece))
    if len(classes) < 2:
        path = file.table.path
        raise UserError(f"{path}: the target '{file.target}' has {len(classes)} of the two classes needed.")
    encoder = RawEncoder.of_columns([columns[name].fitted() for name in file.columns])
    return Scanned(encoder, sorted(classes), rows)


def labels(column: pa.ChunkedArray, file: File, first_row: int) -> np.ndarray:
    """Return the classes as text: 0.0 and 1.0 are '0' and '1'."""
    cells_read = column.to_pandas()
    if isinstance(cells_read.dtype, pd.CategoricalDtype):
        texts = [str(text).strip() for text in cells_read.cat.categories]
        names = np.array([*("" if cells.read(text) is None else text for text in texts), ""], dtype=object)
        result = names[cells_read.cat.codes.to_numpy()]
    elif pa.types.is_boolean(column.type):
        result = cells_read.map({True: "True", False: "False"}).fillna("").to_numpy(dtype=object)
    else:
        values, inverse = np.unique(cells_read.to_numpy(dtype=np.float64, na_value=np.nan), return_inverse=True)
        names = np.array(["" if np.isnan(value) else f"{value:.15g}" for value in values], dtype=object)
        result = names[inverse]
    missing = np.flatnonzero(result == "")
    if missing.size:
        row = first_row + int(missing[0]) + 1
        raise UserError(f"{file.table.path}, row {row}: the target '{file.target}' is missing; remove such rows.")
    return np.asarray(result, dtype=str)


class StreamedRows:
    """The rows that are not held out, encoded and scaled, in as many passes as are needed."""

    def __init__(self, file: File, scanned: Scanned, seed: int, bar: Any):
        self.file, self.scanned, self.seed, self.bar = file, scanned, seed, bar
        self.share = min(HELD_OUT, MOST_HELD_OUT / scanned.rows)
        self.scaler, self.ready, self.passes = StandardScaler(), False, 0

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for X, y, is_held_out in self._all():
            if not is_held_out.all():
                yield (self.scaler.transform(X[~is_held_out]) if self.ready else X[~is_held_out]), y[~is_held_out]

    def held_out(self, model: StreamingLDEPClassifier) -> tuple[np.ndarray, np.ndarray]:
        """The decision values of the rows that are, and whether each is of the second class."""
        values, positive = [np.empty(0)], [np.empty(0, dtype=bool)]
        for X, y, is_held_out in self._all():
            if is_held_out.any():
                values.append(model.decision_function(self.scaler.transform(X[is_held_out])))
                positive.append(y[is_held_out] == model.classes_[1])
        return np.concatenate(values), np.concatenate(positive)

    def sample(self) -> tuple[pd.DataFrame, np.ndarray]:
        """Some raw rows from the whole file, with their classes: enough for a profile."""
        self.passes += 1
        rng = np.random.default_rng(self.seed)
        share = min(1.0, PROFILE_ROWS / self.scanned.rows)
        frames, classes, done = [], [], 0
        for piece in self.file.pieces():
            chosen = rng.random(len(piece)) < share
            frames.append(piece.select(self.file.columns).to_pandas()[chosen].astype(object))
            classes.append(labels(piece.column(self.file.target), self.file, done)[chosen])
            done += len(piece)
            self.bar.update(len(piece))
        return pd.concat(frames, ignore_index=True), np.concatenate(classes)

    def _all(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Numbers, classes, and whether a row is held out: one random draw per row, the same in each pass."""
        self.passes += 1
        rng = np.random.default_rng(self.seed)
        done = 0
        for piece in self.file.pieces():
            X = self.scanned.encoder.transform(piece.select(self.file.columns).to_pandas())
            y = labels(piece.column(self.file.target), self.file, done)
            yield X, y, rng.random(len(X)) < self.share
            done += len(piece)
            self.bar.update(len(piece))


def _save(folder: Path, pipe: Pipeline, link: Any, profile: TrainingProfile) -> None:
    """The folder appears whole or not at all."""
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    try:
        mlflow_folder.write(scratch / "model", pipe, link, "ldep.StreamingLDEPClassifier", profile=profile)
        (scratch / "model").replace(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
