"""How each column of a table is encoded: what its cells suggest, unless the user has said it.

Nothing here looks at the target, so the choice can be made from all rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pipeline.encoding import cells, dates, spelling
from pipeline.encoding.columns import Date, FittedColumn, Nominal, Numeric

NOMINAL = ("ordinal", "one_hot", "frequency")
KINDS = ("auto", *NOMINAL, "numeric", "date", "drop")
# Up to this number, each category has a feature of its own.
MOST_CATEGORIES = 30
# With more, those do that have this many rows, up to a largest number, and the rare others share one feature. If most
# rows are of rare categories, the column is encoded by frequency.
FREQUENT_ROWS = 10
MOST_FREQUENT = 200
# Of all columns with more than MOST_CATEGORIES together; beyond it they are encoded by frequency.
MOST_FEATURES = 1000
# With fewer rows than this, distinct values prove nothing.
FEWEST_ROWS = 20
# The share of distinct values from which a column of text says which row it is, not what the row is like.
NEARLY_UNIQUE = 0.9
# The share of numbers from which the other texts of a column are taken for errors.
MOST_NUMBERS = 0.9
# The share of gaps from which their indicator is a feature. Standardised, a rarer one would be an outlier.
INDICATOR = 0.01
IDENTIFIER = re.compile(r"(^|[\s_.-])(id|ids|uuid|guid|key|index|row|rownum|nr|no|number|serial)$", re.IGNORECASE)
CAMEL_IDENTIFIER = re.compile(r"[a-z](Id|ID|Key|Nr|No|Number)$")


class ColumnError(ValueError):
    """A column that cannot be encoded as it is, or not as the user wants it."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(f"column '{column}': {reason}")
        self.column, self.reason = column, reason


@dataclass(frozen=True)
class Choice:
    """The encoding of a column; `fitted` is None for a column that is left out, for the reason `drop`."""

    name: str
    kind: str
    fitted: FittedColumn | None
    drop: str | None = None
    remarks: tuple[str, ...] = ()


def choose(frame: pd.DataFrame, encode: str | Mapping[str, str] = "auto") -> list[Choice]:
    """Choose an encoding for each column of a frame of numbers and categories; ColumnError says what is wrong.

    `encode` is one of `auto` and the encodings of nominal columns, or maps some columns to a kind.
    """
    wanted = {} if isinstance(encode, str) else encode
    nominal = encode if isinstance(encode, str) else "auto"
    choices = []
    many = 0
    first: dict[bytes, str] = {}
    for name in frame.columns:
        column = _Column(str(name), frame[name])
        choice = column.choice(wanted.get(str(name), nominal), named=str(name) in wanted)
        if choice.fitted is not None and str(name) not in wanted:
            original = first.setdefault(column.fingerprint(), str(name))
            if original != str(name):
                choice = Choice(choice.name, choice.kind, None, f"it says the same as the column '{original}'")
            elif nominal == "auto" and isinstance(choice.fitted, Nominal) and choice.fitted.encoding == "one_hot":
                width = len(choice.fitted.compared)
                many += width if width > MOST_CATEGORIES else 0
                if width > MOST_CATEGORIES and many > MOST_FEATURES:
                    choice = column.choice("frequency", named=True)
        choices.append(choice)
    return choices


class _Column:
    """A column of a frame, with what is needed to choose: its gaps, and its distinct values."""

    def __init__(self, name: str, column: pd.Series) -> None:
        self.name, self.column = name, column
        self.is_nominal = isinstance(column.dtype, pd.CategoricalDtype)
        values = column.cat.codes.to_numpy() if self.is_nominal else column.to_numpy(dtype=np.float64)
        self.missing = values < 0 if self.is_nominal else np.isnan(values)
        self.present = values[~self.missing]
        self.values, self.counts = np.unique(self.present, return_counts=True)
        self.gaps, self.distinct = int(self.missing.sum()), len(self.values)

    def choice(self, wanted: str, named: bool) -> Choice:
        if wanted == "drop":
            return Choice(self.name, self._kind(), None, "params.yaml says so")
        if not named:
            reason = self._reason_to_drop()
            if reason is not None:
                return Choice(self.name, self._kind(), None, reason)
        elif not self.distinct:
            raise ColumnError(self.name, "there is no value in any row, so it cannot be encoded; drop it")
        if wanted == "numeric" or (not self.is_nominal and (wanted == "auto" or not named)):
            return self._numeric()
        if wanted == "date":
            return self._date(dates.form_of(self._texts(), tuple(dates.FORMS)))
        if not named or wanted == "auto":
            kind = self._kind()
            if kind == "date":
                return self._date(dates.form_of(self._texts()))
            if kind == "numeric":
                return self._numeric()
            if kind == "boolean":
                return Choice(self.name, kind, self._nominal("ordinal", self.column.cat.categories))
            if wanted == "auto" and self.distinct > MOST_CATEGORIES:
                self._refuse_numbers(self._texts())
        if wanted == "auto":
            return self._by_number_of_categories()
        return Choice(self.name, "nominal", self._nominal(wanted), remarks=self._nominal_remarks(wanted))

    def _by_number_of_categories(self) -> Choice:
        if self.distinct <= MOST_CATEGORIES:
            return Choice(self.name, "nominal", self._nominal("one_hot"), remarks=self._nominal_remarks("one_hot"))
        texts = self._texts()
        by_count = np.argsort(-self.counts, kind="stable")[:MOST_FREQUENT]
        frequent = {int(place) for place in by_count if self.counts[place] >= FREQUENT_ROWS}
        if 2 * self.counts[list(frequent)].sum() < len(self.present):
            encoding = "frequency"
            return Choice(self.name, "nominal", self._nominal(encoding), remarks=self._nominal_remarks(encoding))
        rare = tuple(text for place, text in enumerate(texts) if place not in frequent)
        remarks = [f"the {len(rare)} rarest of its {len(texts)} categories share one feature"] if rare else []
        fitted = replace(self._nominal("one_hot"), rare=rare)
        return Choice(self.name, "nominal", fitted, remarks=(*remarks, *self._nominal_remarks("one_hot")))

    def fingerprint(self) -> bytes:
        """Equal for columns that are equal up to the names of categories."""
        return (pd.factorize(self.column)[0] if self.is_nominal else self.column.to_numpy(dtype=np.float64)).tobytes()

    def _texts(self) -> list[str]:
        """The distinct texts that occur; numbers as they would be written."""
        if self.is_nominal:
            return [str(self.column.cat.categories[code]) for code in self.values]
        return [cells.written(float(value)) for value in self.values]

    def _kind(self) -> str:
        if not self.is_nominal:
            return "numeric"
        texts = self._texts()
        if texts and set(texts) <= set(cells.TRUTH):
            return "boolean"
        if texts and dates.form_of(texts) is not None:
            return "date"
        # Few plain numbers are categories here, because the file declares them so.
        many = self.distinct > MOST_CATEGORIES
        if (many or any(isinstance(cells.read(text), str) for text in texts)) and spelling.spelling_of(texts):
            return "numeric"
        return "nominal"

    def _indicator(self, gaps: int) -> bool:
        return INDICATOR <= gaps / max(len(self.column), 1) < 1

    def _numeric(self) -> Choice:
        if not self.is_nominal:
            return Choice(self.name, "numeric", Numeric(self.name, self._indicator(self.gaps)))
        texts = self._texts()
        found = spelling.spelling_of(texts)
        if found is None:
            wrong = next((text for text in texts if spelling.spelling_of([text]) is None), texts[0])
            raise ColumnError(self.name, f"{wrong[:60]!r} is not a number, or not one written like the others")
        remarks = [f"numbers written like {found.example()}"]
        if spelling.is_ambiguous(texts):
            text = next(text for text in texts if "," in text)
            remarks.append(f"the comma in {text!r} is taken for a thousands separator: {found.read(text):.0f}")
        plain = not any(isinstance(cells.read(text), str) for text in texts)
        fitted = Numeric(self.name, self._indicator(self.gaps), None if plain else found)
        return Choice(self.name, "numeric", fitted, remarks=() if plain else tuple(remarks))

    def _date(self, form: str | None) -> Choice:
        texts = self._texts()
        if form is None:
            raise ColumnError(self.name, f"these are not dates of one form, such as YYYY-MM-DD: {texts[0][:60]!r}")
        read = {text: dates.read(text, form) for text in texts}
        moments = np.array(list(read.values()))
        unread = [text for text, moment in read.items() if np.isnan(moment)]
        gaps = self.gaps + int(self.counts[np.isnan(moments)].sum())
        parts = dates.PARTS if dates.has_times(moments) else dates.PARTS[:-1]
        remarks = [f"dates ({form}) become {', '.join(parts)}"]
        if unread:
            remarks.append(f"{len(unread)} texts are not dates and count as missing, such as {unread[0][:60]!r}")
        if form == "DD.MM.YYYY" and dates.is_ambiguous(texts):
            remarks.append("no day is beyond the twelfth, so days could be months; days are taken to come first")
        return Choice(self.name, "date", Date(self.name, form, parts, self._indicator(gaps)), remarks=tuple(remarks))

    def _nominal(self, encoding: str, categories: pd.Index | None = None) -> Nominal:
        """One-hot and frequency know the categories that occur; an ordinal code needs the declared order of all."""
        if categories is None:
            categories = self.column.cat.categories if self.is_nominal and encoding == "ordinal" else self._texts()
        shares = tuple((self.counts / self.counts.sum()).tolist()) if encoding == "frequency" else ()
        texts = tuple(str(category) for category in categories)
        return Nominal(self.name, texts, encoding, shares, indicator=self._indicator(self.gaps))

    def _nominal_remarks(self, encoding: str) -> tuple[str, ...]:
        remarks = []
        if encoding == "frequency":
            remarks.append(f"its {self.distinct} categories are told apart by their frequency only")
        if spelling.have_units(self._texts()):
            remarks.append("numbers with a unit are taken as categories; store the numbers alone if they are meant")
        return tuple(remarks)

    def _refuse_numbers(self, texts: list[str]) -> None:
        """Refuse many texts that are meant as numbers but cannot be read as such: as categories they say little."""
        if spelling.have_units(texts):
            problem = f"{texts[0][:60]!r} is a number with a unit; store the numbers alone, all in one unit"
        else:
            wrong = [text for text in texts if spelling.spelling_of([text]) is None]
            if len(wrong) > (1 - MOST_NUMBERS) * len(texts):
                return
            shown = wrong[0] if wrong else next(text for text in texts if isinstance(cells.read(text), str))
            problem = (
                f"most of its texts are numbers, but {shown[:60]!r} is not, or is not written like the others; correct "
                "it, or leave the cell empty if it is missing"
            )
        raise ColumnError(self.name, f"{problem}, or choose an encoding for the texts (frequency, drop, ...)")

    def _reason_to_drop(self) -> str | None:
        if not self.distinct:
            return "it has no value in any row"
        if self.distinct == 1 and not self._indicator(self.gaps):
            return "it has the same value in every row"
        if len(self.present) < FEWEST_ROWS:
            return None
        if self.is_nominal and self.distinct >= NEARLY_UNIQUE * len(self.present) and self._kind() == "nominal":
            texts = self._texts()
            self._refuse_numbers(texts)
            return f"nearly every row has a text of its own ({self.distinct} texts in {len(self.present)} rows)"
        if not self.is_nominal and self.distinct == len(self.present) and self._numbers_rows():
            return "it numbers the rows: whole numbers, all different"
        return None

    def _numbers_rows(self) -> bool:
        """Whether distinct whole numbers follow each other, or have the name of an identifier."""
        if not np.all(self.present == np.round(self.present)):
            return False
        steps = np.diff(self.present)
        in_order = bool(np.all(steps > 0) or np.all(steps < 0))
        consecutive = self.present.max() - self.present.min() < 1.05 * len(self.present)
        return in_order or consecutive or is_identifier_name(self.name)


def is_identifier_name(name: str) -> bool:
    return bool(IDENTIFIER.search(name.strip()) or CAMEL_IDENTIFIER.search(name.strip()))


def declared(frame: pd.DataFrame) -> list[Choice]:
    """The paper's encoding: numbers, and the index of a category in its declared order."""
    choices = []
    for name in frame.columns:
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            categories = tuple(str(category) for category in column.cat.categories)
            choices.append(Choice(str(name), "nominal", Nominal(str(name), categories)))
        else:
            choices.append(Choice(str(name), "numeric", Numeric(str(name))))
    return choices
