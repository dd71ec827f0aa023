"""Raw tables: from the cells of a data frame to numbers, the same way in training, scoring and serving.

It needs pandas (`pip install ldep[table]`). The modules `cells`, `dates`, `spelling` and `words` read one cell,
`merges` finds different spellings of a category, `kinds` decides what a column is, and `columns` turns its cells into
features.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ldep.table import _cells as cells
from ldep.table import _columns as columns
from ldep.table import _dates as dates
from ldep.table import _kinds as kinds
from ldep.table import _merges as merges
from ldep.table import _spelling as spelling
from ldep.table import _words as words
from ldep.table._cells import CellError
from ldep.table._columns import Date, FittedColumn, Nominal, Numeric, Text
from ldep.table._frames import Strings, as_frame, is_number
from ldep.table._kinds import ColumnDecision, ColumnError
from ldep.table._ranges import Range

if TYPE_CHECKING:
    from ldep.table._encoder import TableEncoder

__all__ = [
    "CellError",
    "ColumnDecision",
    "ColumnError",
    "Date",
    "FittedColumn",
    "Nominal",
    "Numeric",
    "Range",
    "Strings",
    "TableEncoder",
    "Text",
    "as_frame",
    "cells",
    "columns",
    "dates",
    "is_number",
    "kinds",
    "merges",
    "spelling",
    "words",
]


def __getattr__(name: str) -> Any:
    """Import the encoder when it is asked for: who only reads cells need not wait for scikit-learn."""
    if name == "TableEncoder":
        return import_module("ldep.table._encoder").TableEncoder
    raise AttributeError(f"module 'ldep.table' has no attribute {name!r}")
