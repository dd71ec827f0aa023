"""Dates and times: how a cell is read as a moment, and which numbers a model sees of it.

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

from pipeline.encoding import cells

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
# The share of texts that must be dates: a file may have a few typing errors, which count as missing.
MOST = 0.95
PARTS = ("year", "month", "weekday", "days", "hour")


def form_of(texts: Sequence[str], candidates: Sequence[str] = tuple(FORMS)[:-1]) -> str | None:
    """Return the form in which almost all texts are dates, or None. Plain digits are numbers unless asked for."""
    shares = {}
    for form in candidates:
        bound = (1 - MOST) * len(texts)
        failures = 0
        for text in texts:
            failures += _read_text(text, form) is None
            if failures > bound:
                break
        else:
            shares[form] = failures
    return min(shares, key=shares.__getitem__) if shares and texts else None


def is_ambiguous(texts: Sequence[str]) -> bool:
    """Whether the day could be the month: no day is beyond the twelfth."""
    return all(_read_text(text, form) is not None for form in ("DD.MM.YYYY", "MM/DD/YYYY") for text in texts)


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


def features(moments: np.ndarray, parts: Sequence[str]) -> np.ndarray:
    """Return the numbers that a model sees of each moment: one column per part, NaN where the moment is missing."""
    days = np.floor(moments / DAY)
    year, month = _year_and_month(days)
    values = {
        "year": year,
        "month": month,
        "weekday": (days + 5) % 7,  # Monday is 0; 2000 began on a Saturday
        "days": days,
        "hour": (moments - days * DAY) / 3600,
    }
    return np.column_stack([values[part] for part in parts])


def has_times(moments: np.ndarray) -> bool:
    return bool(np.any(moments[~np.isnan(moments)] % DAY))


def _year_and_month(days: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The proleptic Gregorian year and month, in floating point, as ONNX and C compute them too.

    Years begin in March here, so that the leap day is the last day of a year; there are 146,097 days in 400 years.
    """
    shifted = days + 730_425  # since the first of March of the year 0
    era = np.floor(shifted / 146_097)
    day_of_era = shifted - era * 146_097
    leaps = np.floor(day_of_era / 1460) - np.floor(day_of_era / 36_524) + np.floor(day_of_era / 146_096)
    year_of_era = np.floor((day_of_era - leaps) / 365)
    day_of_year = day_of_era - (365 * year_of_era + np.floor(year_of_era / 4) - np.floor(year_of_era / 100))
    march_month = np.floor((5 * day_of_year + 2) / 153)
    in_next_year = np.floor(march_month / 10)  # January and February
    return era * 400 + year_of_era + in_next_year, march_month + 3 - 12 * in_next_year


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
