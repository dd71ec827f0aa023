"""What a user may want to say about a table that its cells cannot decide: how to split it, and what its codes mean.

Everything here is a guess, and changes nothing. Each suggestion comes with what to type.
"""

from __future__ import annotations

import json
import re
import shlex
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ldep_pipeline.data.kinds import CAMEL_IDENTIFIER, IDENTIFIER
from ldep_pipeline.data.profile import Profile, ProfiledColumn

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


def spellings(column: pd.Series) -> list[list[str]]:
    """Categories that are probably one: equal but for case, spaces and the form of their Unicode characters.

    The most frequent spelling comes first.
    """
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return []
    counts = {str(name): int(count) for name, count in column.value_counts().items() if count}
    groups = defaultdict(list)
    for category in counts:
        groups[_plain(category)].append(category)
    return [sorted(group, key=lambda name: (-counts[name], name)) for group in groups.values() if len(group) > 1]


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


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
    named = any(pattern.search(column.name) for pattern in (IDENTIFIER, CAMEL_IDENTIFIER, ENTITY))
    if not named or column.distinct < FEWEST_GROUPS or POSTAL.search(column.name):
        return False
    return bool(frame[column.name].value_counts().median() >= FEWEST_REPEATS)


def _spellings(frame: pd.DataFrame) -> Iterator[Suggestion]:
    for name in map(str, frame.columns):
        groups = spellings(frame[name])
        if not groups:
            continue
        listed = "; ".join(" and ".join(map(repr, group)) for group in groups[:MOST_SPELLINGS])
        more = f"; and {len(groups) - MOST_SPELLINGS} more" if len(groups) > MOST_SPELLINGS else ""
        what = "classes of the target" if name == frame.columns[-1] else "categories"
        yield Suggestion(f"'{name}' has {what} that are probably the same: {listed}{more}", "--merge")


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


def merged(cells: pd.Series, groups: Sequence[Sequence[str]]) -> pd.Series:
    """Raw cells, in which every spelling of a group is replaced by its first one."""
    first = {spelling: group[0] for group in groups for spelling in group[1:]}
    return cells.map(lambda cell: first.get(cell.strip(), cell) if isinstance(cell, str) else cell)
