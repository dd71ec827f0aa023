"""The answers of a model and what really happened: from a file with both, or from a request log and a file of ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from ldep.table import CellError, cells, merges
from ldep_pipeline.commands.measured import BLOCKS, Answers
from ldep_pipeline.common.errors import UserError, listed, short
from ldep_pipeline.data.tables import Layout, open_table
from ldep_pipeline.registry.download import Opened
from ldep_pipeline.registry.origin import Origin
from ldep_pipeline.server import request_log
from ldep_pipeline.serving.served_model import ServedModel


@dataclass
class Known:
    """The answers, and what happened to the rows on the way to them, in sentences."""

    answers: Answers
    by: str = "rows"
    """What is independent: rows, group or time."""
    remarks: list[str] = field(default_factory=list)


@dataclass
class _Collected:
    """Answers part by part."""

    model: ServedModel
    predicted: list[np.ndarray] = field(default_factory=list)
    decisions: list[np.ndarray] = field(default_factory=list)
    probabilities: list[np.ndarray] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)

    def add(self, frame: pd.DataFrame) -> None:
        X, report = self.model.read(frame)
        self.unknown.update({name: len(rows) for name, rows in report.items()})
        numbers, values = self.model.score(X)
        probability = self.model.probability(X, values)
        self.predicted.append(numbers)
        if values is not None:
            self.decisions.append(values)
        if probability is not None:
            self.probabilities.append(probability)

    def answers(self, truth: np.ndarray | None, clusters: np.ndarray | None) -> Answers:
        """Those of the rows whose truth is known, or of all."""
        predicted = np.concatenate(self.predicted).astype(np.intp)
        kept = np.ones(len(predicted), dtype=bool) if truth is None else ~np.isnan(truth)
        return Answers(
            np.array(self.model.classes),
            predicted[kept],
            np.concatenate(self.decisions)[kept] if self.decisions else None,
            np.concatenate(self.probabilities)[kept] if self.probabilities else None,
            None if truth is None else truth[kept].astype(np.intp),
            None if clusters is None else clusters[kept],
        )

    def remarks(self) -> Iterator[str]:
        if self.unknown:
            shown = ", ".join(f"{name} ({count})" for name, count in self.unknown.most_common())
            yield f"Unknown values were taken as missing, in cells of: {shown}."


def from_file(model: ServedModel, origin: Origin | None, path: Path, target: str | None, layout: Layout) -> Known:
    """The answers to the rows of a file. Without a target they have no outcomes."""
    columns = model.encoder.columns_
    table = open_table(path, layout, known=columns)
    if target is not None and target not in table.columns:
        raise UserError(
            f"{path} has no column '{short(target)}' with what really happened; the columns are: "
            f"{listed(table.columns)}. Name it with --target, or add --estimate to estimate the metric without it."
        )
    table.require(columns)
    is_grouped = origin is not None and origin.split == "group" and origin.split_column in table.columns
    split = origin.split_column if origin is not None and is_grouped else None
    beside = [name for name in dict.fromkeys([target, split]) if name is not None and name not in columns]
    collected, truth, clusters, done = _Collected(model), [], [], 0
    for piece in table.pieces([*columns, *beside], model.encoder.numeric_columns):
        frame = piece.to_pandas()
        try:
            collected.add(frame[columns])
            if target is not None:
                truth.append(_classes_of(frame[target], model.classes, done, origin))
        except CellError as error:
            place = table.place(error.row if error.column == target else done + error.row)
            raise UserError(f"{path}: {place}, column '{short(str(error.column))}': {error.reason}") from None
        if split is not None:
            clusters.append(frame[split].astype(object).to_numpy())
        done += len(frame)
    if not done:
        raise UserError(f"{path}: there are no rows.")
    outcomes = np.concatenate(truth) if truth else None
    by, of_rows, remarks = _clusters(origin, clusters, done, path)
    return Known(
        collected.answers(_with_some(outcomes, path, target), of_rows),
        by,
        [f"{path}: {done} rows.", *_without_outcome(outcomes), *collected.remarks(), *remarks],
    )


@dataclass(frozen=True)
class OutcomeFile:
    """A file of ids and of what really happened to them."""

    path: Path
    id: str
    target: str
    layout: Layout


def from_log(opened: Opened, log: Path, outcomes: OutcomeFile | None) -> Known:
    """The answers that a server logged, with their outcomes if there is a file of them.

    The version that is evaluated answers the logged rows again, which gives the same answers; rows that another version
    answered are left out. If an id was answered several times, the last answer counts.
    """
    model, version = opened.model, opened.version
    truth_of = None if outcomes is None else _outcomes_by_id(outcomes, model.classes, opened.origin)
    rows: dict[str, dict[str, object]] = {}
    others, without_id, total = 0, 0, 0
    for part in request_log.entries(log, model.encoder.columns_):
        for entry in part:
            total += 1
            if version is not None and entry.version != version:
                others += 1
            elif truth_of is None:
                rows[str(total)] = entry.row
            elif cells.read(entry.id) is None:
                without_id += 1
            else:
                name = _name_of(entry.id)
                rows.pop(name, None)
                rows[name] = entry.row
    if not total:
        raise UserError(f"{log}: there are no answered rows.")
    if not rows:
        reason = f"all {others} rows were answered by another version than {version}"
        if without_id:
            reason = f"{without_id} rows have no id; start the server with an id for its log"
        raise UserError(f"{log}: {reason}.")
    names = [name for name in rows if truth_of is None or name in truth_of]
    remarks = [f"{log}: {total} answered rows."]
    if others:
        remarks.append(f"{others} rows that another version than {version} answered are left out.")
    if truth_of is not None and outcomes is not None:
        if not names:
            raise UserError(
                f"no id of {outcomes.path}, such as '{short(next(iter(truth_of)))}', is in {log}, which has ids such "
                f"as '{short(next(iter(rows)))}'; name the column of the ids with --id."
            )
        repeated = total - others - without_id - len(rows)
        for count, sentence in (
            (without_id, "logged rows without an id are left out."),
            (repeated, "answers to an id that was answered again later are left out."),
            (len(rows) - len(names), "answered ids have no outcome yet."),
            (len(truth_of) - len(names), f"ids of {outcomes.path} are not in the log."),
        ):
            if count:
                remarks.append(f"{count} {sentence}")
    if opened.origin is not None and opened.origin.split != "rows":
        remarks.append(
            f"A log does not say which {opened.origin.split} a row has: the intervals take rows as independent."
        )
    collected, columns = _Collected(model), model.encoder.columns_
    for first in range(0, len(names), request_log.ROWS):
        chosen = [[rows[name][column] for column in columns] for name in names[first : first + request_log.ROWS]]
        try:
            collected.add(pd.DataFrame(chosen, columns=pd.Index(columns, dtype=object), dtype=object))
        except CellError as error:  # a log holds answered requests, so somebody edited it
            raise UserError(f"{log}: column '{short(str(error.column))}': {error.reason}") from None
    truth = None if truth_of is None else np.array([truth_of[name] for name in names])
    return Known(collected.answers(truth, None), "rows", [*remarks, *collected.remarks()])


def _outcomes_by_id(outcomes: OutcomeFile, classes: list[str], origin: Origin | None) -> dict[str, float]:
    """The number of the class by id. Rows without an outcome are left out."""
    path, id_, target = outcomes.path, outcomes.id, outcomes.target
    table = open_table(path, outcomes.layout, known=[id_, target])
    table.require([id_, target])
    found: dict[str, float] = {}
    done = 0
    for piece in table.pieces([id_, target]):
        frame = piece.to_pandas()
        try:
            numbers = _classes_of(frame[target], classes, done, origin)
        except CellError as error:
            place = table.place(error.row)
            raise UserError(f"{path}: {place}, column '{short(target)}': {error.reason}") from None
        for row, (cell, number) in enumerate(zip(frame[id_].astype(object), numbers.tolist())):
            if cells.read(cell) is None:
                raise UserError(f"{path}: {table.place(done + row)}, column '{short(id_)}': the id is missing.")
            name = _name_of(cell)
            if name in found:
                raise UserError(
                    f"{path}: {table.place(done + row)}, column '{short(id_)}': the id '{short(name)}' is there a "
                    "second time; keep one outcome per id."
                )
            found[name] = number
        done += len(frame)
    known = {name: number for name, number in found.items() if not np.isnan(number)}
    if not known:
        raise UserError(f"{path}: no row has a value in the column '{short(target)}'.")
    return known


def _name_of(cell: object) -> str:
    """An id as text: JSON, CSV and Parquet write a number in several ways."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def _classes_of(column: pd.Series, classes: list[str], done: int, origin: Origin | None) -> np.ndarray:
    """The number of each cell's class, NaN for a missing cell; CellError names a cell that is no class.

    If the spellings of the target were merged for training, they are merged here by the same rule.
    """
    are_merged = origin is not None and origin.target in origin.merged
    spellings = merges.spellings_of(column, classes) if are_merged else {}
    numbers = cells.codes_of(column, classes, tuple(spellings.items()))
    strange = cells.taken_as_missing(column, numbers)
    if strange.size:
        value = short(str(column.iloc[int(strange[0])]))
        raise CellError(
            done + int(strange[0]), column.name, f"'{value}' is none of the model's classes: {listed(classes)}."
        )
    return numbers


def _with_some(outcomes: np.ndarray | None, path: Path, target: str | None) -> np.ndarray | None:
    if outcomes is not None and np.isnan(outcomes).all():
        raise UserError(f"{path}: no row has a value in the column '{short(target or '')}'.")
    return outcomes


def _without_outcome(outcomes: np.ndarray | None) -> Iterator[str]:
    count = 0 if outcomes is None else int(np.isnan(outcomes).sum())
    if count:
        yield f"{count} rows have no outcome and are left out."


def _clusters(
    origin: Origin | None, cells_of_split: list[np.ndarray], rows: int, path: Path
) -> tuple[str, np.ndarray | None, list[str]]:
    """What is independent in a file, and for each row its group or block."""
    if origin is None or origin.split == "rows":
        return "rows", None, []
    name = short(origin.split_column or "")
    if origin.split == "group":
        if cells_of_split:
            named = [str(cell) for cell in np.concatenate(cells_of_split)]
            if origin.split_column in origin.merged:
                named = [merges.plain(group) for group in named]
            return "group", np.unique(named, return_inverse=True)[1], []
        return "rows", None, [f"{path} has no column '{name}' with the groups: the intervals take rows as independent."]
    # The rows of a file are taken to be in the order of time; its column of times need not be there.
    return "time", np.arange(rows) * BLOCKS // rows, [f"The rows of {path} are taken to be in the order of time."]
