"""A model of a raw table as a program of primitive steps, from raw cells to the answer; `ldep.export` prints it.

This is the only place that translates the kinds of columns of the encoder into steps.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ldep.answers._columns import RawColumns
from ldep.export import (
    Column,
    Feature,
    Letters,
    Program,
    Reading,
    Spelling,
    Term,
    program_of,
)
from ldep.model import FittedModel
from ldep.table import Date, FittedColumn, Nominal, Numeric, Text, cells, columns, words

SHARE = "(0.5 is 50 %)"  # after the name of a column of percentages
READING = Reading(sorted(cells.MISSING), cells.TRUTH, cells.LARGEST)


def program_of_table(raw: RawColumns, model: FittedModel, classes: np.ndarray) -> Program:
    """Return the program of a model behind an encoder; NotExportable names what has no steps."""
    steps = program_of(model, classes)
    made: list[tuple[int, str, float]] = []
    read: list[Column] = []
    for place, column in enumerate(raw.columns):
        cell, features = steps_of(column.fitted)
        read.append(cell)
        made += [(place, step, equals) for step, equals in features]
    names = [name for name, _ in columns.labels([column.fitted for column in raw.columns])]
    scaling = zip(raw.fill.tolist(), raw.mean.tolist(), raw.scale.tolist())
    return replace(
        steps,
        columns=read,
        features=[Feature(name, *step, *numbers) for name, step, numbers in zip(names, made, scaling)],
        reading=reading_of(read),
    )


def steps_of(column: FittedColumn) -> tuple[Column, list[tuple[str, float]]]:
    """The step that reads the cells of a column, and those that make its features, with what `equals` compares."""
    read = Column(column.name, "number")
    features = [("value", 0.0)]
    if isinstance(column, Date):
        read = Column(column.name, "date", form=column.form)
        features = [(part, 0.0) for part in column.parts]
    elif isinstance(column, Nominal):
        categories = list(column.categories)
        read = Column(column.name, "category", "", categories, column.values.tolist(), _spellings(column))
        if column.encoding == "one_hot":
            features = [("equals", float(number)) for number in column.compared]
    elif isinstance(column, Numeric) and column.spelling is not None and column.spelling.percent:
        # Programs take numbers, and in the table 50 % is text: a client that looks for the old name finds none.
        read = Column(f"{column.name} {SHARE}", "number")
    elif isinstance(column, Text):
        read = Column(column.name, "text", terms=_terms(column))
        features = [("contains", float(place)) for place in range(len(column.terms))]
    return read, features + ([("missing", 0.0)] if column.indicator else [])


def _spellings(column: Nominal) -> list[Spelling]:
    found = []
    for key, code in cells.code_table(column.categories, column.merged).items():
        value = cells.read(key)
        number = value if isinstance(value, float) else None
        text = key if isinstance(key, str) else column.categories[int(code)].strip()
        found.append(Spelling(text, number, int(code)))
    return found


def _terms(column: Text) -> list[Term]:
    """The terms of a text, in composed and in decomposed form."""
    found = []
    for place, term in enumerate(column.terms):
        kind = "part" if words.is_part(term) else "beginning" if len(term) == words.LENGTH else "word"
        spellings = dict.fromkeys([term, unicodedata.normalize("NFD", term)])
        found += [Term(spelling, kind, place) for spelling in spellings]
    return found


def reading_of(columns: Sequence[Column]) -> Reading:
    """How the cells of columns are read; with texts, also what the characters of their terms are compared with."""
    used = {letter for column in columns for term in column.terms for letter in term.text}
    if not used:
        return READING
    same = {character: letter for character, letter in words.folded_characters().items() if letter in used}
    return READING._replace(letters=Letters(same, [*words.UNSPACED, *words.SELECTORS]))
