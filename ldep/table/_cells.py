"""The reading of a cell: the one place that decides which number or string it stands for, or that it is missing.

Training, scoring, streaming and serving all read cells here, so the same cell means the same in every format and in
every context. A cell may change its type on the way: CSV turns numbers into strings, JSON and pandas turn whole numbers
into floats as soon as one cell of the column is empty, and `TRUE` into True. So a cell is what it reads as, not how
it is stored:

- A string is stripped. A string in `MISSING` is a missing cell, like None, NaN and NaT.
- A string that is a number is that number: '01', '1', '1.0', 1 and 1.0 are the same cell.
- Booleans are 1 and 0, and so are the strings 'true', 'True' and 'TRUE' and their opposites.
- Where a column declares equal numbers as different categories, such as '.2' and '0.2', a string is first looked up by
  its spelling: see `code_of`.
- Numbers are 64-bit floats. Whole numbers of more than 15 digits that differ less than that are the same cell.
- A duration is its number of seconds.
"""

from __future__ import annotations

import datetime
import decimal
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

# What pandas reads as missing in a CSV file, and so does MLflow's server; and '?', which ARFF and UCI files use.
MISSING = frozenset(
    {"", "?", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A"}
    | {"NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
)
TRUTH = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}
Merged = tuple[tuple[str, str], ...]
"""Spellings, each with the category that it is read as."""
LARGEST = 1e150  # beyond it squares overflow, in the scaler and in the models


class CellError(ValueError):
    """A cell that cannot be read; `row` counts from 0 in the rows at hand."""

    def __init__(self, row: int, column: object, reason: str) -> None:
        super().__init__(f"row {row}, column '{column}': {reason}")
        self.row, self.column, self.reason = row, column, reason


def read(cell: object) -> float | str | None:
    """Return the number or the string that a cell stands for, or None if it is missing.

    Examples
    --------
    >>> [read(cell) for cell in (" red", "01", True, "TRUE", 7.0, "NA", None)]
    ['red', 1.0, 1.0, 1.0, 7.0, None, None]
    """
    if isinstance(cell, str):
        return _read_text(cell)
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return None
    if isinstance(cell, (bool, np.bool_)):
        return float(cell)
    if isinstance(cell, (datetime.timedelta, np.timedelta64)):  # before numbers: numpy's counts as one
        return _seconds(cell)
    if isinstance(cell, (numbers.Real, decimal.Decimal)):
        return _read_number(cell)
    if isinstance(cell, bytes):
        try:
            return _read_text(cell.decode())
        except UnicodeDecodeError:
            raise ValueError(f"{_shown(cell)} is not UTF-8 text.") from None
    raise ValueError(f"{_shown(cell)} is neither a number nor text.")


def read_number(cell: object) -> float:
    """Return the number of a cell of a numeric column, NaN if the cell is missing."""
    value = read(cell)
    if isinstance(value, str):
        raise ValueError(f"{_shown(cell)} is not a number.")
    if value is None:
        return math.nan
    if abs(value) > LARGEST:
        raise ValueError("the number is infinite." if math.isinf(value) else f"{value:g} is beyond ±{LARGEST:g}.")
    return value


def read_text(cell: object) -> str | None:
    """Return the text of a cell of prose, None if the cell is missing; a number is written as usual."""
    value = read(cell)
    return written(value) if isinstance(value, float) else value


def numbers_of(cells: pd.Series) -> np.ndarray:
    """Return the numbers of a numeric column, NaN for missing cells; CellError names the first that is none."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return _read_categories(cells, read_number)
    if pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_complex_dtype(cells):  # booleans are numeric
        values = cells.to_numpy(dtype=np.float64, na_value=np.nan)
        too_large = np.flatnonzero(np.abs(values) > LARGEST)
        if too_large.size:
            _read_each(cells.iloc[too_large[:1]], read_number, int(too_large[0]))
        return values
    return _read_each(cells, read_number)


def codes_of(cells: pd.Series, categories: Sequence[str], merged: Merged = ()) -> np.ndarray:
    """Return the code of each cell of a nominal column, NaN for missing cells and for categories never declared."""
    codes = code_table(tuple(categories), tuple(merged))
    return values_of(cells, lambda cell: code_of(cell, codes))


def code_of(cell: object, codes: Mapping[float | str, float]) -> float:
    """Return the code of a cell in a `code_table`: by its spelling if that has a code of its own, else by its value.

    Examples
    --------
    >>> codes = code_table((".2", "0.2", "0.3"))
    >>> [code_of(cell, codes) for cell in (".2", "0.2", "0.20", 0.2, ".3", "0.4")]
    [0.0, 1.0, 1.0, 1.0, 2.0, nan]
    """
    value = read(cell)
    if value is None:
        return math.nan
    text = cell.decode() if isinstance(cell, bytes) else cell
    spelling = text.strip() if isinstance(text, str) else value
    return codes.get(spelling, codes.get(value, math.nan))


def values_of(cells: pd.Series, function: Callable[[object], float]) -> np.ndarray:
    """Return what a function makes of each cell; CellError names the first one for which it raises ValueError."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return _read_categories(cells, function)
    if isinstance(cells.dtype, pd.StringDtype) or pd.api.types.is_numeric_dtype(cells):
        return _read_categories(cells.astype("category"), function)  # each value once instead of each cell
    return _read_each(cells, function)


def taken_as_missing(cells: pd.Series, values: np.ndarray) -> np.ndarray:
    """Return the rows whose cell has a value that was read as missing, because training knows none like it.

    `values` are the cells as the encoder has read them, NaN where it takes them as missing. A cell that is empty, or
    that spells a missing value, is not among the rows.
    """
    rows = np.flatnonzero(np.isnan(values))
    if not rows.size:
        return rows
    if isinstance(cells.dtype, pd.CategoricalDtype):
        has_value = np.array([*(_has_value(category) for category in cells.cat.categories), False])
        return rows[has_value[cells.cat.codes.to_numpy()[rows]]]
    if pd.api.types.is_numeric_dtype(cells):
        return rows[cells.iloc[rows].notna().to_numpy()]
    return rows[[_has_value(cell) for cell in cells.iloc[rows]]]


@lru_cache(maxsize=4096)
def code_table(categories: tuple[str, ...], merged: Merged = ()) -> dict[float | str, float]:
    """Return the code of each value, and of each spelling of a value for which there are several categories.

    `merged` has further spellings, each with its category.

    Such a value itself has the code of the category that is spelled as `written` spells it, or of the first one. A
    spelling is never taken for a value: only numbers have several, and a string that is a number is not a value.
    """
    spellings: dict[float | str, dict[str, float]] = {}
    for code, category in enumerate(categories):
        value = read(category)
        if value is not None:
            spellings.setdefault(value, {}).setdefault(category.strip(), float(code))
    codes: dict[float | str, float] = {}
    for value, of_value in spellings.items():
        usual = written(value) if isinstance(value, float) else value
        codes[value] = of_value.get(usual, next(iter(of_value.values())))
    for of_value in spellings.values():
        if len(of_value) > 1:
            codes.update(of_value)
    for spelling, category in merged:
        value = read(spelling)
        if value is not None:
            codes.setdefault(value, float(categories.index(category)))
    return codes


def written(number: float) -> str:
    """Return the usual spelling of a number, without a fraction if it is whole."""
    return str(int(number)) if number.is_integer() else repr(number)


def in_order(strings: Sequence[str]) -> list[str]:
    """Sort undeclared categories: those that are numbers by their value, then the others by their text."""

    def key(text: str) -> tuple[bool, float, str]:
        value = read(text)
        return (False, value, text) if isinstance(value, float) else (True, 0.0, text)

    return sorted(strings, key=key)


def have_words(strings: Sequence[str]) -> bool:
    """Whether some strings are not numbers as programs write them."""
    return any(isinstance(read(string), str) for string in strings)


def declared(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The columns of a table as it declares them: numbers, and categories by their index in the declared order.

    Each is a column of an encoder as plain values.
    """
    recipes: list[dict[str, Any]] = []
    for name in frame.columns:
        recipe = {"name": str(name), "kind": "numeric", "indicator": False}
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            categories = [str(category) for category in frame[name].cat.categories]
            recipe |= {"kind": "nominal", "categories": categories, "encoding": "ordinal"}
        recipes.append(recipe)
    return recipes


def present(strings: Sequence[str]) -> list[str]:
    """Return the different strings that are not missing cells."""
    return [text for text in dict.fromkeys(strings) if read(text) is not None]


def distinct(strings: Sequence[str]) -> list[str]:
    """Return the strings without those that are missing cells, and without those that read as an earlier one."""
    by_value: dict[float | str, str] = {}
    for text in strings:
        value = read(text)
        if value is not None:
            by_value.setdefault(value, text)
    return list(by_value.values())


def _read_text(cell: str) -> float | str | None:
    text = cell.strip()
    if text in MISSING:
        return None
    if text in TRUTH:
        return TRUTH[text]
    # float() also takes 1_000 and digits of other scripts, which no file means as a number.
    if "_" in text or not text.isascii():
        return text
    try:
        value = float(text)
    except ValueError:
        return text
    return None if math.isnan(value) else value


def _read_number(cell: object) -> float | None:
    try:
        value = float(cell)  # type: ignore[arg-type]
    except OverflowError:  # a whole number of more than 308 digits
        value = math.inf if cell > 0 else -math.inf  # type: ignore[operator]
    except ValueError:  # a signalling NaN of decimal
        return None
    return None if math.isnan(value) else value


def _has_value(cell: object) -> bool:
    """Whether a cell is not missing. What cannot be read at all has a value, though an unusable one."""
    try:
        return read(cell) is not None
    except ValueError:
        return True


def _seconds(cell: datetime.timedelta | np.timedelta64) -> float | None:
    duration = pd.Timedelta(cell)
    if duration is pd.NaT:
        return None
    # The quotient of two Python integers is rounded once: the same whatever the unit was.
    return duration.as_unit("ns").value / 10**9


def _read_categories(cells: pd.Series, function: Callable[[object], float]) -> np.ndarray:
    """Read each category once instead of each cell. A category that cannot be read matters only where it occurs."""
    values, failed = [], set()
    for code, category in enumerate(cells.cat.categories):
        try:
            values.append(function(category))
        except ValueError:
            values.append(math.nan)
            failed.add(code)
    codes = cells.cat.codes.to_numpy()
    if failed:
        rows = np.flatnonzero(np.isin(codes, list(failed)))
        if rows.size:
            _read_each(cells.astype(object).iloc[rows[:1]], function, int(rows[0]))
    return np.array([*values, math.nan])[codes]


def _read_each(cells: pd.Series, function: Callable[[object], float], first_row: int = 0) -> np.ndarray:
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        try:
            values[row] = function(cell)
        except ValueError as error:
            raise CellError(first_row + row, cells.name, str(error)) from None
    return values


def _shown(cell: object) -> str:
    text = repr(cell)
    return text if len(text) <= 60 else f"{text[:60]}..."
