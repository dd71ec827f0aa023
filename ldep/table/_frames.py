"""A raw table as a frame, and as one of numbers and categories, from which the kinds of its columns are decided."""

from __future__ import annotations

import datetime
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from ldep.table import _cells as cells
from ldep.table import _dates as dates
from ldep.table import _spelling as spelling


@dataclass
class Strings:
    """A column of strings: the distinct ones, and for each cell the position of its string, -1 for a missing cell."""

    distinct: list[str]
    codes: np.ndarray

    def __post_init__(self) -> None:
        self.values = [cells.read(string) for string in self.distinct]
        self.occurring = [self.distinct[code] for code in np.unique(self.codes) if code >= 0]

    def are_numbers(self) -> bool:
        return all(value is None or is_number(string) for string, value in zip(self.distinct, self.values))

    def are_spelled_numbers(self) -> bool:
        """Whether they are numbers in a spelling such as '1.234,5', which the encoder reads."""
        present = [string for string, value in zip(self.distinct, self.values) if value is not None]
        return cells.have_words(present) and spelling.spelling_of(present) is not None

    def numbers(self) -> np.ndarray:
        values = [value if isinstance(value, float) else np.nan for value in self.values]
        return np.array([*values, np.nan])[self.codes]

    def declared(self) -> pd.Categorical:
        """Each string is a category of its own, because the table says so."""
        return self._categorical(cells.present(self.distinct))

    def in_order(self) -> pd.Categorical:
        """Strings that read the same are one category, called as the first of them."""
        return self._categorical(cells.distinct(cells.in_order(self.occurring)))

    def as_written(self) -> pd.Categorical:
        """Each string is a category of its own: '1' and '1.000' read the same, but may be 1 and 1000."""
        return self._categorical(cells.in_order(cells.present(self.occurring)))

    def typed(self) -> np.ndarray | pd.Categorical:
        """Numbers if all of the strings are, else categories."""
        if self.are_numbers():
            return self.numbers()
        return self.as_written() if self.are_spelled_numbers() else self.in_order()

    def _categorical(self, categories: list[str]) -> pd.Categorical:
        table = cells.code_table(tuple(categories))
        codes = np.array([*(cells.code_of(string, table) for string in self.distinct), np.nan])
        return pd.Categorical.from_codes(
            np.nan_to_num(codes, nan=-1).astype(np.int64)[self.codes], categories=pd.Index(categories, dtype=object)
        )

    def equal(self) -> list[list[str]]:
        """Different strings that read the same."""
        groups: dict[float | str, dict[str, None]] = {}
        for string, value in zip(self.distinct, self.values):
            if value is not None:
                groups.setdefault(value, {})[string] = None
        return [list(strings) for strings in groups.values() if len(strings) > 1]


def is_number(string: str) -> bool:
    """Whether a string is a number, not a boolean."""
    return isinstance(cells.read(string), float) and string not in cells.TRUTH


def as_frame(X: Any) -> pd.DataFrame:
    """A table as a frame of pandas whose columns have different names, all of them text."""
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(X, polars.LazyFrame):
        raise TypeError("X is a polars LazyFrame, which has no values yet. Pass X.collect().")
    if polars is not None and isinstance(X, polars.DataFrame):
        X = pd.DataFrame({name: X[name].to_list() for name in X.columns})
    if not isinstance(X, pd.DataFrame):
        if hasattr(X, "toarray"):
            raise TypeError("Sparse data was passed, and a raw table is dense: pass X.toarray(), or a data frame.")
        values = np.asarray(X)
        if np.iscomplexobj(values):
            raise ValueError("Complex data not supported.")
        if values.ndim != 2:
            raise ValueError(
                f"Expected a table, got an array of {values.ndim} dimensions. Reshape your data, such as with "
                "X.reshape(-1, 1) if it is one column."
            )
        return pd.DataFrame(values, columns=[f"x{number}" for number in range(values.shape[1])])
    if not all(isinstance(name, str) for name in X.columns):
        X = X.set_axis([str(name) for name in X.columns], axis=1)
    if not X.columns.is_unique:
        raise ValueError(f"The column '{X.columns[X.columns.duplicated()][0]}' appears twice.")
    return X


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers as float64, everything else as categories; CellError names a cell that is neither number nor text.

    Booleans become 'False' and 'True', dates text in ISO form. Declared categories keep their order.
    """
    return pd.DataFrame({name: _typed(frame[name]) for name in frame.columns}, index=frame.index)


def _typed(column: pd.Series) -> Any:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        categories = [_text(category) or "" for category in dtype.categories]
        if categories == list(dtype.categories) and None not in map(cells.read, categories):
            return column.array
        return Strings(categories, column.cat.codes.to_numpy().astype(np.int64)).declared()
    if types.is_bool_dtype(dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return Strings(["False", "True"], np.where(np.isnan(values), -1, values).astype(np.int64)).in_order()
    if types.is_numeric_dtype(dtype) or types.is_timedelta64_dtype(dtype):
        return cells.numbers_of(column)
    try:
        codes, distinct = pd.factorize(column)
        texts = [_text(cell) for cell in distinct]
    except (TypeError, ValueError):
        cells.values_of(column.astype(object), lambda cell: float(_text(cell) is None))  # names the cell
        raise
    missing = np.array([text is None for text in texts] + [True])
    return Strings([text or "" for text in texts], np.where(missing[codes], -1, codes)).typed()


def _text(cell: object) -> str | None:
    """A cell as it would be written in a file; None if it is missing."""
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, (bool, np.bool_)):
        return str(bool(cell))
    if isinstance(cell, (datetime.date, np.datetime64)):
        moment = dates.read(cell, "YYYY-MM-DD")
        return None if np.isnan(moment) else dates.written(moment)
    value = cells.read(cell)
    return cells.written(value) if isinstance(value, float) else value
