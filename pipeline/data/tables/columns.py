"""The kind of a column, found from all its cells: numbers, or categories with their order."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from pipeline.common.errors import UserError, short
from pipeline.data.tables.table import Table
from pipeline.encoding import cells, spelling

log = logging.getLogger(__name__)
# Numbers in a spelling that is not read as one: '1,5', '1.234,5', '12 %', '$3'.
LIKE_NUMBER = re.compile(r"[$€£]?\s*[+-]?(\d+|\d{1,3}([., ']\d{3})+)?([.,]\d+)?([eE][+-]?\d+)?\s*[%$€£]?")
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")


def typed(table: Table, name: str, chunks: list[pa.Array], report: bool = True) -> np.ndarray | pd.Categorical:
    """Return a column as float64, or as categories.

    Declared categories keep their order, and equal numbers that are declared in several spellings stay apart. Other
    categories are sorted, numbers first, by value, and then the rest by text; equal numbers are one category. `report`
    logs what a user may not expect of the column.
    """
    if not chunks:
        return np.empty(0)
    cells_read = pa.chunked_array(chunks)
    if pa.types.is_boolean(cells_read.type):
        values = cells_read.to_pandas().to_numpy(dtype=np.float64, na_value=np.nan)
        codes = np.where(np.isnan(values), -1, values).astype(np.int64)
        return _Texts(["False", "True"], codes).in_order()
    if not pa.types.is_dictionary(cells_read.type):
        return _numbers(table, name, cells_read.to_pandas().to_numpy(dtype=np.float64, na_value=np.nan))
    texts = _texts(cells_read)
    is_declared = table.declares_order(name)
    if is_declared:
        column = texts.declared()
    elif not table.declares_types and texts.are_numbers():
        return _numbers(table, name, texts.numbers())
    elif texts.are_spelled_numbers():
        return texts.as_written()
    else:
        column = texts.in_order()
        if report:
            _report_numbers(table, name, texts)
    if report:
        _report_equal(table, name, texts, is_declared)
    return column


def _texts(cells_read: pa.ChunkedArray) -> _Texts:
    unified = cells_read.unify_dictionaries()
    codes = np.concatenate([chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in unified.chunks])
    texts = ["" if text is None else str(text).strip() for text in unified.chunk(0).dictionary.to_pylist()]
    return _Texts(texts, codes.astype(np.int64))


@dataclass
class _Texts:
    """A column of text: its distinct texts, and for each cell the position of its text, -1 for a missing cell."""

    texts: list[str]
    codes: np.ndarray

    def __post_init__(self) -> None:
        self.values = [cells.read(text) for text in self.texts]
        self.occurring = [self.texts[code] for code in np.unique(self.codes) if code >= 0]

    def are_numbers(self) -> bool:
        return all(value is None or is_plain_number(text) for text, value in zip(self.texts, self.values))

    def are_spelled_numbers(self) -> bool:
        """Whether the texts are numbers in a spelling such as '1.234,5', which the encoder reads."""
        words = [text for text, value in zip(self.texts, self.values) if value is not None]
        return any(isinstance(cells.read(text), str) for text in words) and spelling.spelling_of(words) is not None

    def numbers(self) -> np.ndarray:
        values = [value if isinstance(value, float) else np.nan for value in self.values]
        return np.array([*values, np.nan])[self.codes]

    def declared(self) -> pd.Categorical:
        """Each text is a category of its own, because the file says so."""
        return self._categorical(cells.present(self.texts))

    def in_order(self) -> pd.Categorical:
        """Texts that read the same are one category, called as the first of them."""
        return self._categorical(cells.distinct(cells.in_order(self.occurring)))

    def as_written(self) -> pd.Categorical:
        """Each text is a category of its own: '1' and '1.000' read the same, but may be 1 and 1000."""
        return self._categorical(cells.in_order(cells.present(self.occurring)))

    def _categorical(self, categories: list[str]) -> pd.Categorical:
        table = cells.code_table(tuple(categories))
        codes = np.array([*(cells.code_of(text, table) for text in self.texts), np.nan])
        return pd.Categorical.from_codes(
            np.nan_to_num(codes, nan=-1).astype(np.int64)[self.codes], categories=pd.Index(categories, dtype=object)
        )

    def equal(self) -> list[list[str]]:
        """Different texts that read the same."""
        groups: dict[float | str, list[str]] = {}
        for text in dict.fromkeys(self.texts):
            value = cells.read(text)
            if value is not None:
                groups.setdefault(value, []).append(text)
        return [texts for texts in groups.values() if len(texts) > 1]

    def row_of(self, text: str) -> int:
        return int(np.flatnonzero(self.codes == self.texts.index(text))[0])


def is_plain_number(text: str) -> bool:
    """Whether a text is a number, not a truth value."""
    return isinstance(cells.read(text), float) and text not in cells.TRUTH


def looks_like_number(text: str) -> bool:
    return is_plain_number(text) or (LIKE_NUMBER.fullmatch(text) is not None and any(map(str.isdigit, text)))


def _numbers(table: Table, name: str, values: np.ndarray) -> np.ndarray:
    too_large = np.flatnonzero(np.abs(values) > cells.LARGEST)
    if too_large.size:
        row = int(too_large[0])
        try:
            cells.read_number(values[row])
        except ValueError as error:
            raise UserError(f"{table.path}: {table.place(row)}, column '{short(name)}': {error}") from None
    return values


def _report_numbers(table: Table, name: str, texts: _Texts) -> None:
    present = [code for code, value in enumerate(texts.values) if value is not None]
    counts = np.bincount(texts.codes[texts.codes >= 0], minlength=len(texts.texts))
    alike = [code for code in present if looks_like_number(texts.texts[code])]
    total, numeric = int(counts[present].sum()), int(counts[alike].sum())
    if not numeric or 2 * numeric < total:
        return
    unread = [texts.texts[code] for code in present if not is_plain_number(texts.texts[code])]
    hint = "Store the column as numbers if it holds numbers."
    if unread:
        row = min(texts.row_of(text) for text in unread)
        first = texts.texts[texts.codes[row]]
        hint = f"The first that is none: {first!r} ({table.place(row)})."
        if DECIMAL_COMMA.fullmatch(first):
            hint += " If the comma is a decimal sign, write all numbers so."
    message = "%s: column '%s' is taken as nominal, although %d of its %d cells look like numbers. %s"
    log.warning(message, table.path, name, numeric, total, hint)


def _report_equal(table: Table, name: str, texts: _Texts, is_declared: bool) -> None:
    outcome = "stay different categories, as the file declares them" if is_declared else "count as one category"
    for group in texts.equal()[:3]:
        shown = ", ".join(map(repr, group[:4]))
        log.warning("%s: column '%s': %s read the same and %s.", table.path, name, shown, outcome)
    words = [text for text in texts.occurring if cells.read(text) is None and text not in ("", "?")]
    if words:
        shown = ", ".join(map(repr, words))
        log.info("%s: column '%s': %s counts as a missing cell.", table.path, name, shown)
