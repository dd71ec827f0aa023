"""The user's own data: a file that `own_data` describes, checked before it is used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.common.digests import file_digest
from pipeline.common.errors import UserError, nearest, short
from pipeline.config.params import OwnData
from pipeline.data.own_split import read_split_column
from pipeline.data.provenance import Provenance
from pipeline.data.split_column import SplitColumn
from pipeline.data.tables import Layout, open_table, read_frame
from pipeline.encoding.choice import ColumnError, choose


def fetch(name: str, own: OwnData) -> tuple[pd.DataFrame, Provenance]:
    """Return a file of the user's, its target last, with classes and at least one column that can be encoded."""
    path = Path(own.path)
    if not path.is_file():
        raise UserError(f"own_data.{name}.path: there is no file {path} (in {Path.cwd()}).")
    try:
        layout = Layout(own.delimiter, own.decimal, own.encoding)
    except UserError as error:
        raise UserError(f"own_data.{name}: {error}") from None
    columns = open_table(path, layout, known=[own.target]).columns
    for column in own.ignore:
        if column not in columns:
            raise UserError(f"{path}: there is no column '{column}' to ignore; correct own_data.{name}.ignore.")
    frame = read_frame(path, own.target, left_out(own), layout)
    if frame.empty:
        raise UserError(f"{path}: there are no rows.")
    _check_classes(frame[own.target], own)
    _check_encoding(frame, name, own)
    return frame, Provenance("own file", file=own.path, md5=file_digest(path, "md5"))


def fetch_split_column(name: str, own: OwnData) -> SplitColumn | None:
    """Return the column by which the rows of a readable file are to be split, if own_data names one."""
    if own.split is None:
        return None
    layout = Layout(own.delimiter, own.decimal, own.encoding)
    return read_split_column(Path(own.path), layout, own.split, f"own_data.{name}.split")


def left_out(own: OwnData) -> list[str]:
    """The columns that are no features: those to ignore, and the one that splits the rows unless it is kept."""
    return own.ignore if own.split is None or own.split.keep else [*own.ignore, own.split.column]


def _check_encoding(frame: pd.DataFrame, name: str, own: OwnData) -> None:
    """UserError if a column cannot be encoded, or if none is left."""
    features = [str(column) for column in frame.columns[:-1]]
    for column in own.encode if isinstance(own.encode, dict) else ():
        if column not in features:
            raise UserError(
                f"own_data.{name}.encode: {own.path} has no feature '{short(column)}'; {nearest(column, features)}"
            )
    try:
        choices = choose(frame.iloc[:, :-1], own.encode)
    except ColumnError as error:
        raise UserError(
            f"{own.path}: column '{short(error.column)}': {error.reason} (own_data.{name}.encode)."
        ) from None
    if all(choice.fitted is None for choice in choices):
        first = choices[0]
        raise UserError(
            f"{own.path}: no column is left beside the target: '{short(first.name)}' is left out because {first.drop}. "
            f"To keep a column, name its kind in own_data.{name}.encode."
        )


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
