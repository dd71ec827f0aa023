"""The user's own data: a file that `own_data` describes, opened once, and checked before it is used."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from ldep_pipeline.common.digests import file_digest
from ldep_pipeline.common.errors import UserError, nearest, short
from ldep_pipeline.data.cells import dates
from ldep_pipeline.data.frames import frame_of
from ldep_pipeline.data.kinds import ColumnError
from ldep_pipeline.data.profile import Profile, profile
from ldep_pipeline.data.provenance import Provenance
from ldep_pipeline.data.settings import OwnData, OwnSplit
from ldep_pipeline.data.stage_files import SplitColumn
from ldep_pipeline.data.tables import Layout, Table, open_table


class OwnTable(NamedTuple):
    """What is known of a file: its rows, the target last; where they are from; what splits them; what they are."""

    frame: pd.DataFrame
    provenance: Provenance
    column: SplitColumn | None
    profile: Profile


def fetch(name: str, own: OwnData) -> OwnTable:
    """Return a file of the user's, with classes and at least one column that can be encoded."""
    path = Path(own.path)
    if not path.is_file():
        raise UserError(f"own_data.{name}.path: there is no file {path} (in {Path.cwd()}).")
    try:
        layout = Layout(own.delimiter, own.decimal, own.encoding)
    except UserError as error:
        raise UserError(f"own_data.{name}: {error}") from None
    table = open_table(path, layout, known=[own.target])
    for ignored in own.ignore:
        if ignored not in table.columns:
            raise UserError(f"{path}: there is no column '{ignored}' to ignore; correct own_data.{name}.ignore.")
    split, left_out = own.split, own.ignore
    if split is not None:
        if split.column not in table.columns:
            raise UserError(f"own_data.{name}.split.{split.kind}: {path} has no column '{short(split.column)}'.")
        left_out = left_out if split.keep else [*left_out, split.column]
    frame, cells = frame_of(table, own.target, left_out, beside=None if split is None else split.column)
    if frame.empty:
        raise UserError(f"{path}: there are no rows.")
    _check_classes(frame[own.target], own)
    found = _profile(frame, name, own)
    column = None if split is None else _split_column(table, split, cells, f"own_data.{name}.split")
    return OwnTable(frame, Provenance("own file", file=own.path, md5=file_digest(path, "md5")), column, found)


def _profile(frame: pd.DataFrame, name: str, own: OwnData) -> Profile:
    """The profile of the rows; UserError if a column cannot be encoded, or if none is left."""
    features = [str(column) for column in frame.columns[:-1]]
    for column in own.encode if isinstance(own.encode, dict) else ():
        if column not in features:
            raise UserError(
                f"own_data.{name}.encode: {own.path} has no feature '{short(column)}'; {nearest(column, features)}"
            )
    try:
        found = profile(frame, own.encode)
    except ColumnError as error:
        raise UserError(
            f"{own.path}: column '{short(error.column)}': {error.reason} (own_data.{name}.encode)."
        ) from None
    if len(found.dropped) == len(features):
        first = found.columns[0]
        raise UserError(
            f"{own.path}: no column is left beside the target: '{short(first.name)}' is left out because {first.drop}. "
            f"To keep a column, name its kind in own_data.{name}.encode."
        )
    return found


def _check_classes(target: pd.Series, own: OwnData) -> None:
    unlabelled = np.flatnonzero(target.isna())
    if unlabelled.size:
        raise UserError(
            f"{own.path}: the target '{own.target}' is missing in {unlabelled.size} rows, first in data row "
            f"{unlabelled[0] + 1}; remove these rows."
        )
    classes = [str(category) for category in target.cat.categories]
    counts = target.value_counts()
    if len(classes) < 2:
        shown = ", ".join(f"'{short(label)}' ({counts[label]} rows)" for label in classes)
        raise UserError(
            f"{own.path}: the target '{own.target}' has {len(classes)} class{'es' * (len(classes) != 1)}, "
            f"not two or more: {shown}. Choose another column."
        )
    single = [label for label in classes if counts[label] == 1] if len(classes) > 2 else []
    if single:
        raise UserError(
            f"{own.path}: {len(single)} of the {len(classes)} classes of the target '{own.target}' have a single row, "
            f"such as '{short(single[0])}': a model could not be fitted and tested on them. Join rare classes, remove "
            "their rows, or choose another column."
        )


def _split_column(table: Table, split: OwnSplit, cells: np.ndarray | pd.Categorical | None, where: str) -> SplitColumn:
    """The column by which the rows are split. `where` is the key of params.yaml that names it."""
    kind, name = split.kind, split.column
    missing = np.flatnonzero(pd.isna(cells))
    if missing.size:
        raise UserError(
            f"{table.path}: {table.place(int(missing[0]))}, column '{short(name)}': the {kind} is missing (in "
            f"{missing.size} rows); remove these rows, or split by another column ({where})."
        )
    if isinstance(cells, pd.Categorical):
        values = _moments(table, name, cells, where) if kind == "time" else cells.codes
    else:
        values = cells
    return SplitColumn(kind, name, np.unique(values, return_inverse=True)[1].astype(np.int64))


def _moments(table: Table, name: str, cells: pd.Categorical, where: str) -> np.ndarray:
    """Each cell as a moment in time; UserError names the first row that is none."""
    used = cells.remove_unused_categories()
    strings = [str(text) for text in used.categories]
    form = dates.form_of(strings)
    if form is None:
        raise UserError(
            f"{table.path}: column '{short(name)}': '{short(strings[0])}' and others are neither dates nor numbers, so "
            f"the rows have no order in time ({where}.time). Write dates as YYYY-MM-DD."
        )
    moments = np.array([dates.read(text, form) for text in strings])[used.codes]
    bad = np.flatnonzero(np.isnan(moments))
    if bad.size:
        row = int(bad[0])
        raise UserError(
            f"{table.path}: {table.place(row)}, column '{short(name)}': '{short(str(cells[row]))}' is not a date of "
            f"the form {form}, as the others are; correct it, or remove the row ({where}.time)."
        )
    return moments
