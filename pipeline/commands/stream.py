"""A model of a Parquet file of any size, in memory that does not grow with it: `ldep stream`.

The file is read several times, a piece at a time: for the encoder, for the scaler, and by the classifier. A part of the
rows is held out, for the accuracy that is told and for the probabilities.
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

import mlflow.pyfunc
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from ldep import StreamingLDEPClassifier
from pipeline.commands.score import ROWS, with_dictionaries
from pipeline.common.errors import UserError, nearest
from pipeline.encoding.cells import MISSING
from pipeline.encoding.encoder import RawEncoder
from pipeline.registry import versions
from pipeline.serving import calibration

log = logging.getLogger(__name__)
HELD_OUT, MOST_HELD_OUT = 0.1, 100_000  # share of the rows, and how many at most
MOST_CATEGORIES = 10_000  # of a nominal column: all are held, and one that numbers the rows is no feature


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
        rows = Rows(file, scanned, seed, bar)
        for X, _ in rows:
            rows.scaler.partial_fit(X)
        rows.ready = True
        model = StreamingLDEPClassifier(random_state=seed, **settings)
        try:
            model.fit_batches(rows)
        except ValueError as error:
            raise UserError(f"{source}: {error}") from None
        values, positive = rows.held_out(model)
    accuracy = float(np.mean((values >= 0) == positive)) if len(values) else float("nan")
    pipe = Pipeline([("encode", scanned.encoder), ("scale", rows.scaler), ("model", model)])
    both = 0 < positive.sum() < len(positive)
    _save(folder, pipe, calibration.fit(values, positive) if both else None)
    told = {"rows": scanned.rows, "held_out": len(values), "accuracy": accuracy, "passes": rows.passes}
    log.info(
        "%s: %d rows, %d passes, %.0f s; accuracy %.2f %% on %d rows held out.",
        folder, scanned.rows, rows.passes + 1, time.monotonic() - began, 100 * accuracy, len(values),
    )  # fmt: skip
    return told


@dataclass
class File:
    source: Path
    target: str
    columns: list[str]

    def pieces(self) -> Iterator[pa.Table]:
        file = pyarrow.parquet.ParquetFile(self.source, pre_buffer=False)  # a buffer would hold what was read
        for batch in file.iter_batches(batch_size=ROWS, columns=[*self.columns, self.target]):
            yield with_dictionaries(pa.Table.from_batches([batch]))


def _open(source: Path, target: str, ignore: Sequence[str]) -> File:
    if source.suffix not in (".parquet", ".pq"):
        raise UserError(f"{source}: not .parquet; other formats cannot be read again and again at speed.")
    if not source.is_file():
        raise UserError(f"{source} is not here.")
    try:
        names = pyarrow.parquet.ParquetFile(source).schema_arrow.names
    except (OSError, pa.ArrowInvalid) as error:
        raise UserError(f"{source} is not a readable Parquet file: {error}.") from None
    for name in (target, *ignore):
        if name not in names:
            raise UserError(f"{source} has no column '{name}'; {nearest(name, names)}")
    columns = [name for name in names if name != target and name not in ignore]
    if not columns:
        raise UserError(f"{source}: there is no feature beside the target '{target}'.")
    return File(source, target, columns)


@dataclass(frozen=True)
class Scanned:
    """What the first pass finds."""

    encoder: RawEncoder
    classes: list[str]
    rows: int


class _Column:
    """A numeric column's sum, or a nominal one's categories, and how many cells have a value."""

    def __init__(self, where: str, kind: pa.DataType):
        self.where = where
        self.numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        self.declared = pa.types.is_dictionary(kind)
        if not (self.numeric or self.declared or pa.types.is_boolean(kind)):
            raise UserError(f"{where} holds {kind}: neither numbers nor categories; leave it out with --ignore.")
        self.sum, self.count = 0.0, 0
        self.found: Counter[str] = Counter()

    def add(self, cells: pa.ChunkedArray, first_row: int) -> None:
        if self.numeric:
            values = cells.cast(pa.float64()).to_numpy()
            if np.isinf(values).any():
                row = first_row + int(np.flatnonzero(np.isinf(values))[0]) + 1
                raise UserError(f"{self.where}, row {row}: an infinite number.")
            known = values[~np.isnan(values)]
            self.sum, self.count = self.sum + float(known.sum()), self.count + len(known)
            return
        if self.declared:  # the dictionary first: its order is the declared one, also of what never occurs
            for value in cells.chunk(0).dictionary.to_pylist():
                self.found.setdefault(str(value), 0)
        for value, count in (pair.values() for pair in pc.value_counts(cells.combine_chunks()).to_pylist()):
            if value is not None and value not in MISSING:
                self.found[str(value)] += count
                self.count += count
        if len(self.found) > MOST_CATEGORIES:
            raise UserError(
                f"{self.where} has more than {MOST_CATEGORIES} values, too many for a nominal feature; "
                "leave it out with --ignore, or store it as numbers."
            )

    def fitted(self, name: str, in_order: bool) -> dict[str, Any]:
        if not self.count:
            raise UserError(f"{self.where} has no value in any row; leave it out with --ignore.")
        if self.numeric:
            return {"name": name, "kind": "numeric", "fill": self.sum / self.count, "kept": True}
        categories = [value for value in self.found if value not in MISSING]
        categories = categories if in_order else sorted(categories)
        fill = sum(code * self.found[value] for code, value in enumerate(categories)) / self.count
        return {"name": name, "kind": "nominal", "categories": categories, "fill": fill, "kept": True}


def scan(file: File, bar: Any) -> Scanned:
    """One pass: the categories and means of the features, and the classes of the target."""
    schema = pyarrow.parquet.ParquetFile(file.source).schema_arrow
    columns: dict[str, _Column] = {}
    classes: dict[str, int] = {}
    rows = 0
    for piece in file.pieces():
        for name in file.columns:
            if name not in columns:
                columns[name] = _Column(f"{file.source}, column '{name}'", piece.schema.field(name).type)
            columns[name].add(piece.column(name), rows)
        for label in np.unique(labels(piece.column(file.target), file, rows)).tolist():
            classes.setdefault(label, rows)
        if len(classes) > 2:
            shown = ", ".join(f"'{label}'" for label in sorted(classes)[:6])
            raise UserError(f"{file.source}: the target '{file.target}' has more than two classes: {shown}.")
        rows += len(piece)
        bar.update(len(piece))
    if len(classes) < 2:
        raise UserError(f"{file.source}: the target '{file.target}' has {len(classes)} of the two classes needed.")
    fitted = [
        columns[name].fitted(name, in_order=pa.types.is_dictionary(schema.field(name).type)) for name in file.columns
    ]
    encoder = RawEncoder.from_json({"strategy": "mean", "fill_value": 0.0, "impute": True, "columns": fitted})
    return Scanned(encoder, sorted(classes), rows)


def labels(cells: pa.ChunkedArray, file: File, first_row: int) -> np.ndarray:
    """The classes as text: 0.0 and 1.0 are '0' and '1'."""
    missing = cells.is_null(nan_is_null=True).to_numpy()
    if missing.any():
        row = first_row + int(np.flatnonzero(missing)[0]) + 1
        raise UserError(f"{file.source}, row {row}: the target '{file.target}' is missing; remove such rows.")
    if pa.types.is_floating(cells.type):
        values, inverse = np.unique(cells.to_numpy(), return_inverse=True)
        return np.array([f"{value:.15g}" for value in values])[inverse]
    return np.asarray(cells.cast(pa.string()).to_numpy(zero_copy_only=False), dtype=str)


class Rows:
    """The rows that are not held out, encoded and scaled, as often as they are asked for."""

    def __init__(self, file: File, scanned: Scanned, seed: int, bar: Any):
        self.file, self.scanned, self.seed, self.bar = file, scanned, seed, bar
        self.share = min(HELD_OUT, MOST_HELD_OUT / scanned.rows)
        self.scaler, self.ready, self.passes = StandardScaler(), False, 0

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for X, y, held in self._all():
            if not held.all():
                yield (self.scaler.transform(X[~held]) if self.ready else X[~held]), y[~held]

    def held_out(self, model: StreamingLDEPClassifier) -> tuple[np.ndarray, np.ndarray]:
        """The decision values of the rows that are, and whether each is of the second class."""
        values, positive = [np.empty(0)], [np.empty(0, dtype=bool)]
        for X, y, held in self._all():
            if held.any():
                values.append(model.decision_function(self.scaler.transform(X[held])))
                positive.append(y[held] == model.classes_[1])
        return np.concatenate(values), np.concatenate(positive)

    def _all(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Numbers, classes, and whether a row is held out: by a draw a row, the same in each pass."""
        self.passes += 1
        rng = np.random.default_rng(self.seed)
        done = 0
        for piece in self.file.pieces():
            X = self.scanned.encoder.transform(piece.select(self.file.columns).to_pandas())
            y = labels(piece.column(self.file.target), self.file, done)
            yield X, y, rng.random(len(X)) < self.share
            done += len(piece)
            self.bar.update(len(piece))


def _save(folder: Path, pipe: Pipeline, sigmoid: Any) -> None:
    """The folder appears whole or not at all."""
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    try:
        with tempfile.TemporaryDirectory() as data:
            mlflow.pyfunc.save_model(
                str(scratch / "model"), **versions.content(Path(data), pipe, sigmoid, "ldep.StreamingLDEPClassifier")
            )
        (scratch / "model").replace(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
