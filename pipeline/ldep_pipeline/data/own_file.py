"""The user's own data: a file that `own_data` describes, opened once, and checked before it is used.

What its cells cannot decide, such as how to split the rows or what codes mean, is guessed. A guess changes nothing, and
comes with what to type.
"""

from __future__ import annotations

import json
import logging
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from ldep.table import ColumnError, dates, kinds, merges
from ldep_pipeline.common.digests import file_digest
from ldep_pipeline.common.errors import UserError, nearest, short
from ldep_pipeline.data.frames import frame_of
from ldep_pipeline.data.profile import Profile, ProfiledColumn, profile
from ldep_pipeline.data.settings import OwnData, OwnSplit
from ldep_pipeline.data.stage_files import Provenance, SplitColumn
from ldep_pipeline.data.tables import Layout, Table, open_table

log = logging.getLogger(__name__)


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
    split, left_out = own.split_column, own.ignore
    if split is not None:
        if split.column not in table.columns:
            raise UserError(f"own_data.{name}.split.{split.kind}: {path} has no column '{short(split.column)}'.")
        left_out = left_out if split.keep else [*left_out, split.column]
    frame, cells = frame_of(table, own.target, left_out, beside=None if split is None else split.column)
    if frame.empty:
        raise UserError(f"{path}: there are no rows.")
    check_groups(own, [*map(str, frame.columns)], name)
    _check_merged(own, [*map(str, frame.columns), *([split.column] if split is not None else [])], name)
    if own.target in own.merge:
        frame[own.target] = _merged_classes(frame[own.target], name)
    if split is not None and split.column in own.merge and isinstance(cells, pd.Categorical):
        groups = pd.Series(cells)
        cells = merges.merged(groups, merges.merges(groups)).array
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
        found = profile(frame, own.encode, own.merge)
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


def _check_merged(own: OwnData, columns: Sequence[str], name: str) -> None:
    for column in own.merge:
        if column not in columns:
            raise UserError(
                f"own_data.{name}.merge: {own.path} has no column '{short(column)}' in use; {nearest(column, columns)}"
            )


def check_groups(own: OwnData, columns: Sequence[str], name: str) -> None:
    """Refuse a column of groups that is not among the raw columns."""
    for column in own.grouped:
        if column not in columns:
            raise UserError(
                f"own_data.{name}.groups: {own.path} has no column '{short(column)}' in use; "
                f"{nearest(column, columns)} To keep a column without using it as a feature, write "
                f"`{short(column)}: drop` in own_data.{name}.encode instead of ignoring it."
            )


def _merged_classes(target: pd.Series, name: str) -> pd.Series:
    category_of = merges.merges(target)
    for spelling, category in category_of.items():
        log.info("%s: the class %r is read as %r.", name, spelling, category)
    return merges.merged(target, category_of)


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


FEWEST_GROUPS = 5
FEWEST_REPEATS = 3  # rows of a group in the median
FEWEST_MOMENTS = 20
FEW_VALUES = 10
MOST_SPELLINGS = 3  # named in one sentence
ENTITY = re.compile(
    r"(^|[\s_.-])(machine|device|sensor|customer|client|patient|subject|user|person|household|store|shop|site|station|"
    r"vehicle|session|account|company)s?$",
    re.IGNORECASE,
)
POSTAL = re.compile(r"(^|[\s_.-])(zip|zip_?code|post_?code|postal|postal_?code|plz|cap|cep)$", re.IGNORECASE)


@dataclass(frozen=True)
class Suggestion:
    """A sentence, and what to type: an option of `ldep new`, or an encoding of columns."""

    text: str
    option: str = ""
    encode: tuple[tuple[str, str], ...] = ()

    def command(self, name: str) -> str:
        """What to type, for a data set of this name."""
        if self.encode:
            value = f"own_data.{name}.encode={json.dumps(dict(self.encode), ensure_ascii=False)}"
            return f"ldep set {shlex.quote(value)}"
        return self.option


def suggest(frame: pd.DataFrame, found: Profile) -> list[Suggestion]:
    """Suggestions for a frame whose last column is the target, with its profile."""
    return [*_splits(frame, found), *_spellings(frame), *_codes(frame, found)]


def _splits(frame: pd.DataFrame, found: Profile) -> Iterator[Suggestion]:
    dates = [column for column in found.columns if column.kind == "date" and column.distinct >= FEWEST_MOMENTS]
    entities = [column for column in found.columns if _is_entity(column, frame)]
    for column in entities:
        rows = float(frame[column.name].value_counts().median())
        yield Suggestion(
            f"'{column.name}' names {column.distinct} things with {rows:.0f} rows each: if the model is meant for new "
            "ones, keep the rows of one together",
            f"--group {shlex.quote(column.name)}",
        )
    for column in dates:
        yield Suggestion(
            f"'{column.name}' says when a row was written: if the model is meant for the future, test it on later rows",
            f"--time {shlex.quote(column.name)}",
        )


def _is_entity(column: ProfiledColumn, frame: pd.DataFrame) -> bool:
    named = any(pattern.search(column.name) for pattern in (kinds.IDENTIFIER, kinds.CAMEL_IDENTIFIER, ENTITY))
    if not named or column.distinct < FEWEST_GROUPS or POSTAL.search(column.name):
        return False
    return bool(frame[column.name].value_counts().median() >= FEWEST_REPEATS)


def _spellings(frame: pd.DataFrame) -> Iterator[Suggestion]:
    for name in map(str, frame.columns):
        groups = merges.groups(frame[name])
        if not groups:
            continue
        listed = "; ".join(" and ".join(map(repr, group)) for group in groups[:MOST_SPELLINGS])
        more = f"; and {len(groups) - MOST_SPELLINGS} more" if len(groups) > MOST_SPELLINGS else ""
        what = "classes of the target" if name == frame.columns[-1] else "categories"
        yield Suggestion(
            f"'{name}' has {what} that are probably the same: {listed}{more}", f"--merge {shlex.quote(name)}"
        )


def _codes(frame: pd.DataFrame, found: Profile) -> Iterator[Suggestion]:
    numeric = [column for column in found.columns if column.kind == "numeric" and column.drop is None]
    postal = [column.name for column in numeric if POSTAL.search(column.name)]
    few = [
        column.name
        for column in numeric
        if 2 < column.distinct <= FEW_VALUES
        and column.name not in postal
        and not _is_entity(column, frame)
        and _is_whole(frame[column.name])
    ]
    if postal:
        yield Suggestion(
            f"{_quoted(postal)}: the numbers of postal codes are no amounts; take them as categories",
            encode=tuple((name, "frequency") for name in postal),
        )
    if few:
        yield Suggestion(
            f"{_quoted(few)}: few whole numbers; if they are codes and no amounts, make each of them a choice",
            encode=tuple((name, "one_hot") for name in few),
        )


def _is_whole(cells: pd.Series) -> bool:
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return False
    values = cells.to_numpy(dtype=np.float64)
    values = values[~np.isnan(values)]
    return bool(np.all(values == np.round(values)))


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
