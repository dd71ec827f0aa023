"""A table in a file as a frame for training: numbers as float64, nominal values as categories in their order."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from ldep.table import Strings, cells, is_number
from ldep_pipeline.common.errors import UserError, listed, short
from ldep_pipeline.data.tables import Layout, Table, open_table

log = logging.getLogger(__name__)
# Numbers in a spelling that is not read as one: '1,5', '1.234,5', '12 %', '$3'.
LIKE_NUMBER = re.compile(r"[$€£]?\s*[+-]?(\d+|\d{1,3}([., ']\d{3})+)?([.,]\d+)?([eE][+-]?\d+)?\s*[%$€£]?")
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")


def read_frame(
    path: Path, target: str, ignore: Collection[str] = (), layout: Layout | None = None, where: str | None = None
) -> pd.DataFrame:
    """Read a file, without the ignored columns and with the target last; `where` names the file in errors."""
    return frame_of(open_table(path, layout, known=[target]), target, ignore, where=where)[0]


def frame_of(
    table: Table, target: str, ignore: Collection[str] = (), beside: str | None = None, where: str | None = None
) -> tuple[pd.DataFrame, np.ndarray | pd.Categorical | None]:
    """Read an open table as `read_frame` does, and in the same pass a column that need not be a feature: `beside`."""
    where = where or str(table.path)
    if target not in table.columns:
        raise UserError(f"{where}: there is no target column '{target}'; the columns are: {listed(table.columns)}.")
    left_out = {target, *ignore}
    features = [name for name in table.columns if name not in left_out]
    if not features:
        raise UserError(f"{where}: there is no feature beside the target '{target}'.")
    columns = [*features, target]
    pieces = list(table.pieces(columns if beside is None else list(dict.fromkeys([*columns, beside]))))

    def read(name: str, report: bool) -> np.ndarray | pd.Categorical:
        return read_column(table, name, [chunk for piece in pieces for chunk in piece.column(name).chunks], report)

    frame = pd.DataFrame({name: read(name, report=name != target) for name in columns})
    frame = frame.assign(**{target: _labels(frame[target])})
    return frame, None if beside is None else read(beside, report=False)


def categorical(values: Sequence[object], categories: Sequence[str]) -> pd.Categorical:
    """Nominal cells (text, None for missing); KeyError if a cell is none of the categories."""
    codes = {category: code for code, category in enumerate(categories)}
    return pd.Categorical.from_codes(
        np.array([-1 if value is None else codes[str(value)] for value in values], dtype=np.int64),
        categories=pd.Index(list(categories), dtype=object),
    )


def _labels(target: pd.Series) -> pd.Series:
    """The classes that occur, as text: 0.0 and 1.0 are the classes '0' and '1'."""
    if str(target.dtype) != "category":
        names = [None if pd.isna(label) else f"{label:.15g}" for label in target]
        target = pd.Series(categorical(names, sorted({n for n in names if n is not None})), index=target.index)
    return target.cat.remove_unused_categories()


def read_column(table: Table, name: str, chunks: list[pa.Array], report: bool = True) -> np.ndarray | pd.Categorical:
    """Return a column of a file as float64, or as categories.

    Declared categories keep their order, and equal numbers that are declared in several spellings stay apart. Other
    categories are sorted, numbers first, by value, and then the rest by text; equal numbers are one category. `report`
    logs what a user may not expect of the column.
    """
    if not chunks:
        return np.empty(0)
    content = pa.chunked_array(chunks)
    if pa.types.is_boolean(content.type):
        values = content.to_pandas().to_numpy(dtype=np.float64, na_value=np.nan)
        return Strings(["False", "True"], np.where(np.isnan(values), -1, values).astype(np.int64)).in_order()
    if not pa.types.is_dictionary(content.type):
        return _numbers(table, name, content.to_pandas().to_numpy(dtype=np.float64, na_value=np.nan))
    strings = _strings_of(content)
    is_declared = table.declares_order(name)
    if is_declared:
        column = strings.declared()
    elif not table.declares_types and strings.are_numbers():
        return _numbers(table, name, strings.numbers())
    elif strings.are_spelled_numbers():
        return strings.as_written()
    else:
        column = strings.in_order()
        if report:
            _report_numbers(table, name, strings)
    if report:
        _report_equal(table, name, strings, is_declared)
    return column


def _strings_of(content: pa.ChunkedArray) -> Strings:
    unified = content.unify_dictionaries()
    codes = np.concatenate([chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in unified.chunks])
    stripped = ["" if string is None else str(string).strip() for string in unified.chunk(0).dictionary.to_pylist()]
    return Strings(stripped, codes.astype(np.int64))


def _numbers(table: Table, name: str, values: np.ndarray) -> np.ndarray:
    too_large = np.flatnonzero(np.abs(values) > cells.LARGEST)
    if too_large.size:
        row = int(too_large[0])
        try:
            cells.read_number(values[row])
        except ValueError as error:
            raise UserError(f"{table.path}: {table.place(row)}, column '{short(name)}': {error}") from None
    return values


def _report_numbers(table: Table, name: str, strings: Strings) -> None:
    present = [code for code, value in enumerate(strings.values) if value is not None]
    counts = np.bincount(strings.codes[strings.codes >= 0], minlength=len(strings.distinct))
    unread = {code for code in present if not is_number(strings.distinct[code])}
    alike = [code for code in present if code not in unread or _looks_like_number(strings.distinct[code])]
    total, numeric = int(counts[present].sum()), int(counts[alike].sum())
    if not numeric or 2 * numeric < total:
        return
    hint = "Store the column as numbers if it holds numbers."
    if unread:
        row = int(np.flatnonzero(np.isin(strings.codes, list(unread)))[0])
        first = strings.distinct[strings.codes[row]]
        hint = f"The first that is none: {first!r} ({table.place(row)})."
        if DECIMAL_COMMA.fullmatch(first):
            hint += " If the comma is a decimal sign, write all numbers so."
    message = "%s: column '%s' is taken as nominal, although %d of its %d cells look like numbers. %s"
    log.warning(message, table.path, name, numeric, total, hint)


def _looks_like_number(string: str) -> bool:
    return LIKE_NUMBER.fullmatch(string) is not None and any(map(str.isdigit, string))


def _report_equal(table: Table, name: str, strings: Strings, is_declared: bool) -> None:
    outcome = "stay different categories, as the file declares them" if is_declared else "count as one category"
    for group in strings.equal()[:3]:
        shown = ", ".join(map(repr, group[:4]))
        log.warning("%s: column '%s': %s read the same and %s.", table.path, name, shown, outcome)
    words = [string for string in strings.occurring if cells.read(string) is None and string not in ("", "?")]
    if words:
        shown = ", ".join(map(repr, words))
        log.info("%s: column '%s': %s counts as a missing cell.", table.path, name, shown)
