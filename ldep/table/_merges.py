"""Spellings of one category: strings that differ only in case, in spaces, or in the form of their Unicode characters.

The user decides whether they are one category. If so, the most frequent spelling is its name, and the others are stored
with it, so that each of them is read alike wherever a model answers.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence

import pandas as pd


def groups(column: pd.Series) -> list[list[str]]:
    """The categories that are probably one, the most frequent spelling first; empty for a column of numbers."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return []
    counts = {str(name): int(count) for name, count in column.value_counts().items() if count}
    found = defaultdict(list)
    for category in counts:
        found[plain(category)].append(category)
    return [sorted(group, key=lambda name: (-counts[name], name)) for group in found.values() if len(group) > 1]


def merges(column: pd.Series) -> dict[str, str]:
    """The category of each spelling that is not the name of one."""
    return {spelling: group[0] for group in groups(column) for spelling in group[1:]}


def merged(column: pd.Series, category_of: Mapping[str, str]) -> pd.Series:
    """A column of categories in which each spelling is the category that `merges` has found."""
    if not category_of:
        return column
    categories = [str(category) for category in column.cat.categories]
    names = [category_of.get(category, category) for category in categories]
    kept = [category for category in categories if category not in category_of]
    places = {category: place for place, category in enumerate(kept)}
    codes = pd.Index([*(places[name] for name in names), -1]).take(column.cat.codes)
    return pd.Series(pd.Categorical.from_codes(codes, categories=kept), index=column.index, name=column.name)


def spellings_of(column: pd.Series, categories: Sequence[str]) -> dict[str, str]:
    """The category of each string of a column that is another spelling of one, as if both were in one column."""
    named = {plain(category): category for category in categories}
    strings = {cell for cell in column.dropna().unique() if isinstance(cell, str)} - set(categories)
    return {cell: named[plain(cell)] for cell in sorted(strings) if plain(cell) in named}


def plain(text: str) -> str:
    """What all spellings of a category have in common."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
