"""Dates and times: how a cell is read as a moment.

A moment is the number of seconds since the beginning of 2000, without a time zone: a time with an offset from UTC is
converted to UTC, any other is taken as it is written. Fractions of a second are dropped.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ldep.table import _cells as cells

ORIGIN = datetime.datetime(2000, 1, 1)
DAY = 86_400
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME = r"(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_TIME}", re.ASCII)
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}){_TIME}", re.ASCII)
_NAMED = re.compile(rf"(\d{{1,2}})([- ])([A-Za-z]{{3}})\2(\d{{4}}){_TIME}", re.ASCII)
_DIGITS = re.compile(r"(\d{4})(\d{2})(\d{2})", re.ASCII)
# Each form with the positions of year, month and day in its pattern. Of two forms that fit, the first is taken.
FORMS = {
    "YYYY-MM-DD": (_YEAR_FIRST, (1, 3, 4)),
    "DD.MM.YYYY": (_YEAR_LAST, (4, 3, 1)),
    "MM/DD/YYYY": (_YEAR_LAST, (4, 1, 3)),
    "DD Mon YYYY": (_NAMED, (4, 3, 1)),
    "YYYYMMDD": (_DIGITS, (1, 2, 3)),
}
# The share of strings that must be dates: a file may have a few typing errors, which count as missing.
MOST = 0.95
PARTS = ("year", "month", "weekday", "days", "hour")


def form_of(strings: Sequence[str], candidates: Sequence[str] = tuple(FORMS)[:-1]) -> str | None:
    """Return the form in which almost all strings are dates, or None. Plain digits are numbers unless asked for."""
    shares = {}
    for form in candidates:
        bound = (1 - MOST) * len(strings)
        failures = 0
        for text in strings:
            failures += _read_text(text, form) is None
            if failures > bound:
                break
        else:
            shares[form] = failures
    return min(shares, key=shares.__getitem__) if shares and strings else None


def is_ambiguous(strings: Sequence[str]) -> bool:
    """Whether the day could be the month: no day is beyond the twelfth."""
    return all(_read_text(text, form) is not None for form in ("DD.MM.YYYY", "MM/DD/YYYY") for text in strings)


def read(cell: object, form: str) -> float:
    """Return the moment of a cell in a column of dates, NaN if it is missing or is not a date of this form.

    Examples
    --------
    >>> read("2000-01-02", "YYYY-MM-DD"), read("2.1.2000 00:01", "DD.MM.YYYY")
    (86400.0, 86460.0)
    """
    if isinstance(cell, np.datetime64):
        cell = pd.Timestamp(cell)
    if isinstance(cell, datetime.datetime) and not pd.isna(cell):
        return _seconds(cell.replace(tzinfo=None) - (cell.utcoffset() or datetime.timedelta()))
    if isinstance(cell, datetime.date) and not pd.isna(cell):
        return _seconds(datetime.datetime(cell.year, cell.month, cell.day))
    if isinstance(cell, bytes):
        cell = cell.decode(errors="replace")
    if isinstance(cell, str):
        moment = _read_text(cell, form)
        return math.nan if moment is None else moment
    value = cells.read(cell)
    moment = _read_text(f"{value:.0f}", form) if isinstance(value, float) else None
    return math.nan if moment is None else moment


def written(moment: float) -> str:
    """Return a moment in ISO form, without a time if it is the beginning of a day.

    Examples
    --------
    >>> written(86400.0), written(90061.0)
    ('2000-01-02', '2000-01-02 01:01:01')
    """
    value = ORIGIN + datetime.timedelta(seconds=moment)
    return value.isoformat(" ") if moment % DAY else value.date().isoformat()


def has_times(moments: np.ndarray) -> bool:
    return bool(np.any(moments[~np.isnan(moments)] % DAY))


def _read_text(text: str, form: str) -> float | None:
    pattern, (year, month, day) = FORMS[form]
    match = pattern.fullmatch(text.strip())
    if match is None:
        # A program sends dates in ISO form, whatever the form of the file was.
        return _read_text(text, "YYYY-MM-DD") if form != "YYYY-MM-DD" else None
    month_text = match[month].lower()
    time = match.groups()[-4:] if pattern is not _DIGITS else (None,) * 4
    try:
        moment = datetime.datetime(
            int(match[year]),
            MONTHS.index(month_text) + 1 if month_text.isalpha() else int(month_text),
            int(match[day]),
            hour=int(time[0] or 0),
            minute=int(time[1] or 0),
            second=int(time[2] or 0),
        )
    except ValueError:  # the 30th of February
        return None
    return _seconds(moment) - _offset(time[3])


def _offset(text: str | None) -> float:
    """The seconds by which a time is ahead of UTC."""
    if text is None or text == "Z":
        return 0.0
    hours, minutes = int(text[1:3]), int(text[-2:])
    return (-1.0 if text[0] == "-" else 1.0) * (3600 * hours + 60 * minutes)


def _seconds(moment: datetime.datetime) -> float:
    difference = moment - ORIGIN
    return float(difference.days * DAY + difference.seconds)
