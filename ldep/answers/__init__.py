"""Answers in the columns and units of a raw table: contributions, counterfactuals, rules and exported forms.

`TableModel` is the front of a fitted pipeline of an encoder (`ldep.table`) and an ℓ-DEP. It needs pandas
(`pip install ldep[table]`).
"""

from ldep._utils import belong_to
from ldep.answers._columns import RawColumn, RawColumns
from ldep.answers._counterfactual import (
    RawChange,
    RawCounterfactual,
    RawCounterfactuals,
    answer_rows,
    check_limits,
    menu_of_row,
)
from ldep.answers._program import READING, reading_of, steps_of
from ldep.answers._space import ColumnCoordinates, Limits, RowSpace
from ldep.answers._table_model import TableModel

__all__ = [
    "READING",
    "ColumnCoordinates",
    "Limits",
    "RawChange",
    "RawColumn",
    "RawColumns",
    "RawCounterfactual",
    "RawCounterfactuals",
    "RowSpace",
    "TableModel",
    "answer_rows",
    "check_limits",
    "menu_of_row",
    "reading_of",
    "steps_of",
]

belong_to(__name__, RawChange, RawCounterfactual, RawCounterfactuals, TableModel)
