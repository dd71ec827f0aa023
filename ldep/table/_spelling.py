"""Numbers in the spelling of a country or a report: '163,08', '1.234,5', '1,234', "1'234", '12 %'.

A column has one spelling, found from all its strings. Later strings of the column are read by it, so that '1.234' does
not mean 1234 in training and 1.234 in a request. Cells that are numbers already, as in JSON, need no spelling.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any

from ldep.table import _cells as cells

BLANKS = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "’": "'"})
# Pairs of decimal sign and thousands separator, the likeliest first. A column that fits several takes the first one.
SIGNS = ((".", ""), (".", ","), (",", "."), (".", "'"), (",", "'"), (".", " "), (",", " "), (",", ""))
# '12 kg', '3.5m/s', '$ 20': a number and a short word or sign.
WITH_UNIT = re.compile(r"([$€£¥]\s*[+-]?[\d.,]*\d|[+-]?[\d.,]*\d\s*([^\W\d_]|[°µ²³/$€£¥]){1,6})")


@dataclass(frozen=True)
class Spelling:
    """The decimal sign, the thousands separator ('' if there is none), and whether the numbers are percentages."""

    decimal: str
    thousands: str
    percent: bool

    def __post_init__(self) -> None:
        if (self.decimal, self.thousands) not in SIGNS or not isinstance(self.percent, bool):
            raise ValueError(f"{self} is not a spelling of numbers")

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        groups = rf"|[1-9]\d{{0,2}}(?:{re.escape(self.thousands)}\d{{3}})+" if self.thousands else ""
        fraction = rf"(?:{re.escape(self.decimal)}\d*)?"
        return re.compile(
            rf"([+-]?(?:(?:\d+{groups}){fraction}|{re.escape(self.decimal)}\d+)(?:[eE][+-]?\d+)?)", re.ASCII
        )

    def read(self, cell: object) -> float:
        """Return the number of a cell, NaN if it is missing; ValueError if it is none. '12 %' is 0.12.

        In a column of percentages the sign is needed: 0.5 and 12 could be meant as percentages and as shares.
        """
        if cells.read(cell) is None or not (isinstance(cell, str) or self.percent):
            return cells.read_number(cell)
        text = cell.strip().translate(BLANKS) if isinstance(cell, str) else ""
        digits = text.removesuffix("%").rstrip() if self.percent else text
        if not self._pattern.fullmatch(digits) or (self.percent and not text.endswith("%")):
            raise ValueError(f"{str(cell)[:60]!r} is not a number written like {self.example()}.")
        if self.thousands:
            digits = digits.replace(self.thousands, "")
        digits = digits.replace(self.decimal, ".")
        if self.percent:  # a shift of the decimal point is exact, a division by 100 is not
            mantissa, _, exponent = digits.lower().partition("e")
            digits = f"{mantissa}e{int(exponent or 0) - 2}"
        return cells.read_number(digits)

    def write(self, number: float) -> float | str:
        """Return a cell that is read as this number: the number itself, or a percentage with its sign."""
        if not self.percent:
            return number
        return f"{Decimal(repr(float(number))).scaleb(2):f} %".replace(".", self.decimal)

    def example(self) -> str:
        return f"1{self.thousands}234{self.decimal}5{' %' * self.percent}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def spelling_of(strings: Sequence[str]) -> Spelling | None:
    """Return the spelling in which all strings are numbers, or None."""
    spellings = _spellings(all(text.endswith("%") for text in strings))
    return next((spelling for spelling in spellings if strings and all(_fits(spelling, s) for s in strings)), None)


def is_ambiguous(strings: Sequence[str]) -> bool:
    """Whether the strings are numbers both with a thousands separator and with the same sign as the decimal sign."""
    both = {"%" in text for text in strings} == {False} and any("," in text for text in strings)
    return both and all(_fits(Spelling(".", ",", False), t) and _fits(Spelling(",", "", False), t) for t in strings)


def have_units(strings: Sequence[str]) -> bool:
    """Whether almost all strings are a number with a unit, such as '12 kg'."""
    return bool(strings) and sum(WITH_UNIT.fullmatch(text) is not None for text in strings) >= 0.95 * len(strings)


@lru_cache(maxsize=2)
def _spellings(percent: bool) -> list[Spelling]:
    return [Spelling(decimal, thousands, percent) for decimal, thousands in SIGNS]


def _fits(spelling: Spelling, text: str) -> bool:
    try:
        return math.isfinite(spelling.read(text))
    except ValueError:
        return False
