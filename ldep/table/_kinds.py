"""What each column of a table is: the one decision, made before anything is fitted, for all who need it.

A column is what its cells suggest, unless the user has said it. Nothing here looks at the target, so all rows can be
looked at.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ldep.table import _cells as cells
from ldep.table import _dates as dates
from ldep.table import _merges as merges
from ldep.table import _spelling as spelling
from ldep.table import _words as words
from ldep.table._words import Term

# What `encode` may say of all nominal columns, and of a single column.
NOMINAL = ("auto", "ordinal", "one_hot", "frequency")
KINDS = (*NOMINAL, "numeric", "date", "text", "drop")
ASKED = "encode says so"  # the reason to leave out a column
# Up to this number, each category has a feature of its own.
MOST_CATEGORIES = 30
# With more, those do that have this many rows, up to a largest number, and the rare others share one feature. If most
# rows are of rare categories, the column is encoded by frequency.
FREQUENT_ROWS = 10
MOST_FREQUENT = 200
FREQUENT = 0.5
# Phrases, of which each word says something, are texts unless this share of rows has a frequent one.
FREQUENT_PHRASES = 0.8
# Of all columns with more than MOST_CATEGORIES together; beyond it they are encoded by frequency.
MOST_FEATURES = 1000
# Of all texts together: those terms that most rows contain. A model reads each of them in every row.
MOST_TERMS = 600
# With fewer rows than this, distinct values prove nothing.
FEWEST_ROWS = 20
# The share of distinct values from which a column of strings says which row it is, not what the row is like.
NEARLY_UNIQUE = 0.9
# The share of numbers from which the other strings of a column are taken for errors.
MOST_NUMBERS = 0.9
# The share of missing values from which their indicator is a feature. Standardised, a rarer one would be an outlier.
INDICATOR = 0.01
# Merged spellings that a remark names.
MOST_SHOWN = 3
IDENTIFIER = re.compile(r"(^|[\s_.-])(id|ids|uuid|guid|key|index|row|rownum|nr|no|number|serial)$", re.IGNORECASE)
CAMEL_IDENTIFIER = re.compile(r"[a-z](Id|ID|Key|Nr|No|Number)$")


class ColumnError(ValueError):
    """A column that cannot be encoded as it is, or not as the user wants it."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(f"column '{column}': {reason}")
        self.column, self.reason = column, reason


@dataclass(frozen=True)
class ColumnDecision:
    """What a column is, and how it is encoded.

    `kind` is boolean, date, nominal, numeric or text. `recipe` is the column of an encoder as plain values, see
    `columns.from_json`; None for a column that is left out, for the reason `drop`.
    """

    name: str
    kind: str
    recipe: dict[str, Any] | None
    drop: str | None = None
    remarks: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """The number of features that one-hot encoding makes of the column; 0 for any other encoding."""
        if self.recipe is None or self.recipe.get("encoding") != "one_hot":
            return 0
        rare = self.recipe.get("rare", [])
        return len(self.recipe["categories"]) - len(rare) + bool(rare)

    def treatment(self, has_missing: bool) -> str:
        """Say in words what is done with the column."""
        recipe = self.recipe
        if recipe is None:
            return "left out"
        categories, encoding = recipe.get("categories", ()), recipe.get("encoding")
        if self.kind == "date":
            text = ", ".join("days since 2000" if part == "days" else part for part in recipe["parts"])
        elif self.kind == "text":
            text = f"one feature for each of its {len(recipe['terms'])} most frequent words"
        elif self.kind == "boolean":
            text = "False is 0, True is 1"
        elif encoding == "frequency":
            text = "the share of rows with its category"
        elif encoding == "one_hot":
            text = f"1 for '{shown(categories[1])}', else 0" if len(categories) == 2 else "one feature per category"
            text += ", rare ones share one" if "rare" in recipe else ""
        else:
            text = "used as it is" if encoding is None else "the position of its category"
        if has_missing:
            text += "; missing values are filled" + (", and marked by a feature" if recipe["indicator"] else "")
        return text


def declared(frame: pd.DataFrame) -> list[ColumnDecision]:
    """The paper's encoding: numbers, and the index of a category in its declared order."""
    return [ColumnDecision(recipe["name"], recipe["kind"], recipe) for recipe in cells.declared(frame)]


def check(encode: str | Mapping[str, str], merge: Collection[str], names: Sequence[str]) -> None:
    """Refuse an encoding that does not exist, and columns that do not."""
    wanted, known = (encode, KINDS) if isinstance(encode, Mapping) else ({"": encode}, NOMINAL)
    for name, kind in wanted.items():
        if kind not in known:
            where = f" of the column '{name}'" if name else ""
            raise ValueError(f"encode{where} is {kind!r}; it must be one of {', '.join(known)}.")
        if name and name not in names:
            raise ValueError(f"encode names '{name}', which is not a column of the table.")
    unknown = [name for name in merge if name not in names]
    if unknown:
        raise ValueError(f"merge names '{unknown[0]}', which is not a column of the table.")


def decide(
    frame: pd.DataFrame, encode: str | Mapping[str, str] | None = "auto", merge: Collection[str] = ()
) -> list[ColumnDecision]:
    """Decide about each column of a frame of numbers and categories; ColumnError says what is wrong.

    `encode` is one of NOMINAL, or maps some columns to one of KINDS. None is `declared`. The categories of the columns
    in `merge` that differ only in spelling are one.
    """
    if encode is None:
        return declared(frame)
    wanted = {} if isinstance(encode, str) else encode
    nominal = encode if isinstance(encode, str) else "auto"
    decisions, table = [], [_Column(name, frame[name]) for name in map(str, frame.columns)]
    for place, column in enumerate(table):
        if column.name in merge and (category_of := merges.merges(column.column)):
            merged = _Column(column.name, column.column, category_of)
            # Numbers, dates and texts are read from their spelling.
            if merged.decide(wanted.get(column.name, nominal), column.name in wanted).kind in ("nominal", "boolean"):
                table[place] = merged
    n_features = 0
    first: dict[bytes, str] = {}
    for column in table:
        name = column.name
        decision = column.decide(wanted.get(name, nominal), named=name in wanted)
        if decision.recipe is not None and name not in wanted:
            original = first.setdefault(column.fingerprint(decision.kind), name)
            if original != name:
                reason = f"it says the same as the column '{original}'"
                decision = ColumnDecision(name, decision.kind, None, reason)
            elif nominal == "auto" and decision.width > MOST_CATEGORIES:
                n_features += decision.width
                if n_features > MOST_FEATURES:
                    decision = column.decide("frequency", named=True)
        decisions.append(decision)
    return _with_shared_terms(decisions, table)


def _with_shared_terms(decisions: list[ColumnDecision], table: Sequence[_Column]) -> list[ColumnDecision]:
    """Leave MOST_TERMS to all columns of prose together: the first few of each, and those that most rows contain."""
    places = [place for place, decision in enumerate(decisions) if decision.kind == "text" and decision.recipe]
    ranked = sorted(
        (rank >= MOST_TERMS // (2 * len(places)), -term.rows, place, rank)
        for place in places
        for rank, term in enumerate(table[place].terms)
    )
    counts = Counter(place for _, _, place, _ in ranked[:MOST_TERMS])  # the ranks of a column have the same order
    return [
        table[place].text(counts[place]) if place in counts else decision for place, decision in enumerate(decisions)
    ]


class _Column:
    """A column of a frame, with what is needed to decide: its missing and its distinct values.

    `category_of` has the category of each spelling that is merged.
    """

    def __init__(self, name: str, column: pd.Series, category_of: Mapping[str, str] | None = None) -> None:
        self.name, self.category_of = name, category_of or {}
        self.column = column = merges.merged(column, self.category_of)
        self.is_nominal = isinstance(column.dtype, pd.CategoricalDtype)
        values = column.cat.codes.to_numpy() if self.is_nominal else column.to_numpy(dtype=np.float64)
        is_missing = values < 0 if self.is_nominal else np.isnan(values)
        self.present = values[~is_missing]
        self.values, self.counts = np.unique(self.present, return_counts=True)
        self.missing, self.distinct = int(is_missing.sum()), len(self.values)

    def decide(self, wanted: str, named: bool) -> ColumnDecision:
        if wanted == "drop":
            return self._left_out(ASKED)
        if wanted == "auto" and not named and self._is_prose():
            return self.text()
        if not named:
            reason = self._reason_to_drop()
            if reason is not None:
                return self._left_out(reason)
        elif not self.distinct:
            raise ColumnError(self.name, "there is no value in any row, so it cannot be encoded; drop it")
        if wanted == "auto" and not named and self._is_choice():
            return self._nominal("one_hot")
        if wanted == "numeric" or (not self.is_nominal and (wanted == "auto" or not named)):
            return self._numeric()
        if wanted == "text":
            if not self.terms:
                raise ColumnError(self.name, f"no word is in {words.FEWEST_ROWS} of its texts; drop it")
            return self.text()
        if wanted == "date":
            return self._date(dates.form_of(self._strings(), tuple(dates.FORMS)))
        if not named or wanted == "auto":
            kind = self._kind()
            if kind == "date":
                return self._date(dates.form_of(self._strings()))
            if kind == "numeric":
                return self._numeric()
            if kind == "boolean":
                return self._nominal("ordinal", kind, list(self.column.cat.categories))
            if wanted == "auto" and self.distinct > MOST_CATEGORIES:
                self._refuse_numbers(self._strings())
        return self._by_number_of_categories() if wanted == "auto" else self._nominal(wanted)

    def text(self, n_terms: int = MOST_TERMS) -> ColumnDecision:
        """Decide for prose, with the terms that most rows contain."""
        terms = [term.text for term in self.terms[:n_terms]]
        remark = f"its texts become features: whether they contain each of {len(terms)} words"
        return ColumnDecision(self.name, "text", self._recipe("text", self.missing, terms=terms), remarks=(remark,))

    @cached_property
    def terms(self) -> list[Term]:
        """The terms of the texts in the column."""
        return words.frequent(self._strings(), self.counts, len(self.present), MOST_TERMS)

    def fingerprint(self, kind: str) -> bytes:
        """Equal for columns that are equal; if they are nominal or boolean, up to the names of their categories."""
        if not self.is_nominal:
            return self.column.to_numpy(dtype=np.float64).tobytes()
        codes, categories = pd.factorize(self.column)
        names = [] if kind in ("nominal", "boolean") else list(map(str, categories))
        return codes.tobytes() + json.dumps(names).encode()

    def _strings(self) -> list[str]:
        """The distinct strings that occur; numbers as they would be written."""
        if self.is_nominal:
            return [str(self.column.cat.categories[code]) for code in self.values]
        return [cells.written(float(value)) for value in self.values]

    def _kind(self) -> str:
        if not self.is_nominal:
            return "numeric"
        strings = self._strings()
        if strings and set(strings) <= set(cells.TRUTH):
            return "boolean"
        if strings and dates.form_of(strings) is not None:
            return "date"
        # Few plain numbers are categories here, because the file declares them so.
        if (self.distinct > MOST_CATEGORIES or cells.have_words(strings)) and spelling.spelling_of(strings):
            return "numeric"
        return "nominal"

    def _left_out(self, reason: str) -> ColumnDecision:
        return ColumnDecision(self.name, self._kind(), None, reason)

    def _recipe(self, kind: str, missing: int, **details: Any) -> dict[str, Any]:
        return {"name": self.name, "kind": kind, "indicator": self._has_indicator(missing), **details}

    def _has_indicator(self, missing: int) -> bool:
        return INDICATOR <= missing / max(len(self.column), 1) < 1

    def _numeric(self) -> ColumnDecision:
        plain = ColumnDecision(self.name, "numeric", self._recipe("numeric", self.missing))
        if not self.is_nominal:
            return plain
        strings = self._strings()
        found = spelling.spelling_of(strings)
        if found is None:
            wrong = next((string for string in strings if spelling.spelling_of([string]) is None), strings[0])
            raise ColumnError(self.name, f"{wrong[:60]!r} is not a number, or not one written like the others")
        if not cells.have_words(strings):
            return plain
        remarks = [f"numbers written like {found.example()}"]
        if spelling.is_ambiguous(strings):
            string = next(string for string in strings if "," in string)
            remarks.append(f"the comma in {string!r} is taken for a thousands separator: {found.read(string):.0f}")
        recipe = self._recipe("numeric", self.missing, spelling=found.to_json())
        return ColumnDecision(self.name, "numeric", recipe, remarks=tuple(remarks))

    def _date(self, form: str | None) -> ColumnDecision:
        strings = self._strings()
        if form is None:
            raise ColumnError(self.name, f"these are not dates of one form, such as YYYY-MM-DD: {strings[0][:60]!r}")
        read = {string: dates.read(string, form) for string in strings}
        moments = np.array(list(read.values()))
        unread = [string for string, moment in read.items() if np.isnan(moment)]
        missing = self.missing + int(self.counts[np.isnan(moments)].sum())
        parts = dates.PARTS if dates.has_times(moments) else dates.PARTS[:-1]
        remarks = [f"dates ({form}) become {', '.join(parts)}"]
        if unread:
            remarks.append(f"{len(unread)} strings are not dates and count as missing, such as {unread[0][:60]!r}")
        if form == "DD.MM.YYYY" and dates.is_ambiguous(strings):
            remarks.append("no day is beyond the twelfth, so days could be months; days are taken to come first")
        recipe = self._recipe("date", missing, form=form, parts=list(parts))
        return ColumnDecision(self.name, "date", recipe, remarks=tuple(remarks))

    def _nominal(self, encoding: str, kind: str = "nominal", categories: list[str] | None = None) -> ColumnDecision:
        """One-hot and frequency know the categories that occur; an ordinal code needs the declared order of all."""
        if categories is None:
            is_declared = self.is_nominal and encoding == "ordinal"
            categories = list(self.column.cat.categories) if is_declared else self._strings()
        recipe = self._recipe("nominal", self.missing, categories=list(map(str, categories)), encoding=encoding)
        remarks = []
        if encoding == "frequency":
            recipe["shares"] = (self.counts / self.counts.sum()).tolist()
            remarks.append(f"its {self.distinct} categories are told apart by their frequency only")
        if self.category_of:
            recipe["merged"] = self.category_of
            said = [f"{spelled!r} is read as {category!r}" for spelled, category in self.category_of.items()]
            more = [f"and {len(said) - MOST_SHOWN} more"] if len(said) > MOST_SHOWN else []
            remarks.append("; ".join([*said[:MOST_SHOWN], *more]))
        if kind == "nominal" and spelling.have_units(self._strings()):
            remarks.append("numbers with a unit are taken as categories; store the numbers alone if they are meant")
        return ColumnDecision(self.name, kind, recipe, remarks=tuple(remarks))

    def _is_prose(self) -> bool:
        """Whether the strings are of little use as categories, and are prose with words that recur."""
        if not self.is_nominal or len(self.present) < FEWEST_ROWS or self.distinct <= MOST_CATEGORIES:
            return False
        if self._frequent_categories(FREQUENT_PHRASES) is not None or self._kind() != "nominal":
            return False
        return words.are_prose(self._strings()) and len(self.terms) >= words.FEWEST_TERMS

    def _frequent_categories(self, least: float) -> set[int] | None:
        """The places of the categories that get a feature each; None if too few rows have one of them."""
        by_count = np.argsort(-self.counts, kind="stable")[:MOST_FREQUENT]
        frequent = {int(place) for place in by_count if self.counts[place] >= FREQUENT_ROWS}
        return frequent if self.counts[list(frequent)].sum() >= least * len(self.present) else None

    def _by_number_of_categories(self) -> ColumnDecision:
        one_hot = self._nominal("one_hot")
        if self.distinct <= MOST_CATEGORIES:
            return one_hot
        frequent = self._frequent_categories(FREQUENT)
        if frequent is None:
            return self._nominal("frequency")
        rare = [string for place, string in enumerate(self._strings()) if place not in frequent]
        if not rare:
            return one_hot
        remark = f"the {len(rare)} rarest of its {self.distinct} categories share one feature"
        return replace(one_hot, recipe={**(one_hot.recipe or {}), "rare": rare}, remarks=(remark, *one_hot.remarks))

    def _refuse_numbers(self, strings: list[str]) -> None:
        """Refuse many strings that are meant as numbers but cannot be read as such: as categories they say little."""
        if spelling.have_units(strings):
            problem = f"{strings[0][:60]!r} is a number with a unit; store the numbers alone, all in one unit"
        else:
            wrong = [string for string in strings if spelling.spelling_of([string]) is None]
            if len(wrong) > (1 - MOST_NUMBERS) * len(strings):
                return
            example = wrong[0] if wrong else next(string for string in strings if cells.have_words([string]))
            problem = (
                f"most of its strings are numbers, but {example[:60]!r} is not, or is not written like the others; "
                "correct it, or leave the cell empty if it is missing"
            )
        raise ColumnError(self.name, f"{problem}, or choose an encoding for the strings (frequency, drop, ...)")

    def _reason_to_drop(self) -> str | None:
        if not self.distinct:
            return "it has no value in any row"
        if self.distinct == 1 and not self._has_indicator(self.missing):
            return "it has the same value in every row"
        if len(self.present) < FEWEST_ROWS:
            return None
        if self.is_nominal and self.distinct >= NEARLY_UNIQUE * len(self.present) and self._kind() == "nominal":
            self._refuse_numbers(self._strings())
            return f"nearly every row has a string of its own ({self.distinct} strings in {len(self.present)} rows)"
        if not self.is_nominal and self.distinct == len(self.present) and self._numbers_rows():
            return "it numbers the rows: whole numbers, all different"
        return None

    def _is_choice(self) -> bool:
        """Whether a column of numbers has two whole ones: a third is no answer to what would have to change."""
        is_whole = not self.is_nominal and bool(np.all(self.values == np.round(self.values)))
        return is_whole and self.distinct == 2 and len(self.present) >= FEWEST_ROWS

    def _numbers_rows(self) -> bool:
        """Whether distinct whole numbers follow each other, or have the name of an identifier."""
        if not np.all(self.present == np.round(self.present)):
            return False
        steps = np.diff(self.present)
        in_order = bool(np.all(steps > 0) or np.all(steps < 0))
        consecutive = self.present.max() - self.present.min() < 1.05 * len(self.present)
        name = self.name.strip()
        return in_order or consecutive or bool(IDENTIFIER.search(name) or CAMEL_IDENTIFIER.search(name))


def shown(value: object) -> str:
    """A cell in a few characters."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 24 else f"{text[:21]}..."
